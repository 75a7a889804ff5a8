"""Words for the data generator: submissions, reviews and comments that read like a systems conference, and people who could be there."""

_FIRST_NAMES = """
Adaeze Ahmed Aiko Alba Alejandro Anneke Arjun Astrid Aya Benedikt Bilal Camila Caspar Chiara Dario Dilan Dorota Eero Elena Emre Eszter
Fabio Femi Freya Gita Goran Hamid Hanneke Haruto Helga Idris Ingrid Isabela Jacek Jiho Joana Kamila Kenji Khadija Kira Lamin Lars
Laszlo Leonor Lev Lotte Luca Maja Manuel Marta Mehdi Milena Minh Naomi Neha Niamh Ondrej Orla Otis Pavel Petter Rashid Renata Rohan
Saanvi Samuel Sanna Selim Sigrid Silas Signe Soraya Stefan Sunniva Tadeo Tamar Thabo Tove Ugo Ursula Valter Vesna Willem Xiang Yasmin
Yoon Zainab Zdenek
"""
FIRST_NAMES = _FIRST_NAMES.split()

_LAST_NAMES = """
Abascal Achterberg Adebayo Aguirre Akhtar Antonov Arslan Banerjee Baranski Bergqvist Bouchard Brandt Calvino Chatterjee Cheng Dimitrov
Dlamini Eklund Eriksson Fadel Ferrari Fontaine Gallo Greve Grunwald Hakala Halvorsen Hashimoto Holub Horvath Iversen Jelinek Johansson
Kamara Kapoor Keller Kimura Kovacs Kruger Lefebvre Lindholm Liu Lundgren Macedo Marchetti Mendes Mishra Moreno Mutua Nagy Navarro Ndiaye
Nordin Oduya Okonkwo Orban Pacheco Paszek Pavlov Quintero Radic Rasmussen Reyes Romero Saito Salazar Sandberg Schuster Sorensen Stavros
Steiner Szabo Takeda Tavares Tesfaye Thapa Ueda Valente Varga Verhoeven Vogel Watanabe Weiss Winther Yamada Zadeh Zhou Zielinski
"""
LAST_NAMES = _LAST_NAMES.split()

_PLACES = """
Aldermoor Birkenau Calder Dunmore Eastvale Fernhill Glenrock Harrowgate Inverlochy Juniper Kestrel Lindenberg Marlow Northmere Oakhurst
Pinecrest Quarrystone Ravensburg Silverlake Thornbury Underhill Vestergaard Westmarch Yarrow Zellerfeld
"""
PLACES = _PLACES.split()
INSTITUTIONS = (
    "University of {place}",
    "{place} Institute of Technology",
    "{place} Polytechnic",
    "{place} Research Labs",
)
COUNTRIES = (
    "Brazil",
    "Canada",
    "Denmark",
    "France",
    "Germany",
    "Ghana",
    "India",
    "Japan",
    "Kenya",
    "Korea",
    "Norway",
    "Portugal",
    "Vietnam",
)

TOPICS = (
    "Operating systems",
    "File and storage systems",
    "Databases",
    "Networking",
    "Distributed systems",
    "Virtualization",
    "Security",
    "Privacy",
    "Verification",
    "Programming languages",
    "Machine learning systems",
    "Energy",
    "Measurement",
    "Reliability",
    "Hardware",
    "Mobile and embedded systems",
    "Scheduling",
    "Memory management",
    "Debugging",
    "Blockchains",
)

THINGS = (
    "Write-Ahead Logs",
    "Page Caches",
    "Garbage Collectors",
    "Lock Managers",
    "Kernel Bypass",
    "Remote Memory",
    "Flash Arrays",
    "Microservices",
    "Snapshots",
    "Consensus Groups",
    "Query Planners",
    "Device Drivers",
    "Key-Value Stores",
    "Serverless Functions",
    "Congestion Control",
    "Deletion Requests",
)
ADJECTIVES = (
    "Predictable",
    "Crash-Safe",
    "Frugal",
    "Elastic",
    "Transparent",
    "Verified",
    "Low-Latency",
    "Reversible",
    "Lazy",
    "Fair",
)
TITLES = (
    "{adjective} {thing} without {other}",
    "{name}: {adjective} {thing} for Everyone",
    "{name}: Rethinking {thing}",
    "Do {thing} Need {other}?",
    "{adjective} {thing} at Scale",
    "What Ten Years of {thing} Taught Us about {other}",
)
_SYSTEMS = """
Alder Basalt Cirrus Dove Ember Fjord Garnet Heron Indigo Jetty Kelp Lichen Moss Nimbus Otter Pumice Quill Rook Sedge Tern
"""
SYSTEMS = _SYSTEMS.split()

MOTIVATIONS = (
    "{thing} are everywhere, and yet few people can say what they cost.",
    "Applications increasingly depend on {thing}, whose tail latency dominates what users see.",
    "Operators of {thing} have to choose between safety and speed.",
    "For two decades, {thing} have been built on assumptions that no longer hold.",
)
APPROACHES = (
    "We present a design that separates the ordering of updates from their durability.",
    "This paper shows that most of the work can be moved off the critical path.",
    "We propose an interface by which applications say what they need, and nothing more.",
    "Our key insight is that conflicts are rare and can be repaired afterwards.",
    "We give a proof, checked by machine, that no interleaving loses an update.",
)
RESULTS = (
    "On a production trace, median latency falls by {number} %.",
    "The prototype is {number} % faster than the state of the art, with a third of the memory.",
    "In {number} weeks of deployment it has not lost a single write.",
    "It needs {number} hundred lines of changes to an existing system.",
)

SUMMARIES = (
    "The paper proposes a new design of {thing}, implements it, and compares it with two earlier systems.",
    "This submission studies {thing} in production and derives a set of guidelines.",
    "The authors argue that {thing} should be built differently and back this up with a prototype.",
)
PRAISE = (
    "The problem is real and well motivated.",
    "I enjoyed reading this: the writing is clear and the figures help.",
    "The evaluation covers more workloads than is usual.",
    "The idea is simple, which I mean as a compliment.",
    "It is rare to see a negative result reported so openly.",
)
CRITICISM = (
    "The comparison in section 5 uses defaults for the baseline; it should be tuned.",
    "I could not find out what happens after a crash in the middle of a checkpoint.",
    "All experiments run on {number} nodes; does it scale beyond?",
    "The threat model is not stated, so the security argument is hard to follow.",
    "Related work from the database community is missing.",
    "The gains shrink to {number} % once replication is turned on, which the abstract does not say.",
)
FOR_THE_PC = (
    "I would not fight for this one, nor against it.",
    "This was submitted to a workshop before, I believe; the delta is small.",
    "Happy to be convinced otherwise at the meeting.",
    "The strongest paper in my pile.",
    "I am not an expert in this area.",
)
REVIEWER_COMMENTS = (
    "Having read the other reviews I am raising my score.",
    "I share the concern about the baseline. Can we ask for that experiment as a condition?",
    "The response answers my question about recovery.",
    "Let us discuss this at the meeting; I think we disagree about what is new here.",
    "I checked the artifact: it builds, and figure {number} can be reproduced.",
)
AUTHOR_COMMENTS = (
    "We thank the reviewers. The baseline was tuned as its authors recommend; we will say so.",
    "After a crash the log is replayed from the last checkpoint; section 4.{number} will explain this.",
    "We have run the experiment on twice as many nodes: throughput grows by {number} %.",
    "We will add the missing related work and make the artifact public.",
    "A reviewer asks about replication: it is on in all experiments but the first.",
)
REFUSALS = ("Too many reviews already.", "I have worked with one of the authors.", "Outside my expertise, sorry.", "")
