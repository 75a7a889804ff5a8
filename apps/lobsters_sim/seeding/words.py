"""Words for the data generator: user names, titles, and comments that read as if people had written them.

No text names a user: names are what a disguise takes away. But everybody has a workplace of their own, which some of their texts
mention, so that texts can be told to be theirs.
"""

from __future__ import annotations

import random

_ADJECTIVES = """
amber ancient bitter blue brave brisk calm cloudy copper cosmic cosy crisp curious deft dizzy drowsy dusty eager early faint fancy
fleet fuzzy gentle gilded glad green grumpy hasty hidden humble idle jolly keen late lazy lively lucky lunar mellow misty mossy muted
nimble noble odd pale patient plain proud quick quiet rapid rusty sandy shy silent silver sleepy slow snowy solar spare steady stoic
sunny swift tidy tiny vivid wary wild wise witty young
"""
_NOUNS = """
badger beacon beetle birch bishop bobcat brook canyon cedar cello cicada cobalt comet condor coral cricket dingo dune ember falcon
ferret finch fjord fox garnet gecko glacier grove gull harbor hare hawk heron ibex iris jackal juniper kestrel kite lantern lark lemur
lichen lynx magpie maple marmot marten meadow moth newt oak ocelot orchid osprey otter owl panda pebble pelican pine plover puffin
quail quartz rabbit raven reef river robin salmon sparrow squid stoat stork swan tapir tern thistle toad trout tulip turtle viola
vole walrus willow wolf wombat wren yak zebra
"""
ADJECTIVES, NOUNS = _ADJECTIVES.split(), _NOUNS.split()

#: Tag, description, hotness, and whether only moderators may use it.
TAGS = (
    ("ai", "Programs that learn, or seem to", 0.0, False),
    ("announce", "Announcements of the site itself", 0.0, True),
    ("ask", "Questions to the community", -0.25, False),
    ("assembly", "Close to the machine", 0.0, False),
    ("book", "Books, and chapters of them", 0.0, False),
    ("browsers", "Programs that show the web", 0.0, False),
    ("compilers", "Compilers, interpreters and their parts", 0.0, False),
    ("crypto", "Cryptography", 0.0, False),
    ("culture", "Life with computers, and with those who make them", -0.5, False),
    ("databases", "Storing data, and finding it again", 0.0, False),
    ("debugging", "Finding out why", 0.0, False),
    ("design", "How things look and feel", 0.0, False),
    ("distributed", "Several machines, one task", 0.0, False),
    ("editors", "Programs to write programs in", 0.0, False),
    ("education", "Teaching and learning", 0.0, False),
    ("event", "Conferences and meetings", -0.25, False),
    ("filesystems", "Files and disks", 0.0, False),
    ("games", "Games, and how they are made", 0.0, False),
    ("graphics", "Pixels and triangles", 0.0, False),
    ("hardware", "Things with a plug", 0.0, False),
    ("historical", "From the early days", 0.0, False),
    ("job", "Work offered and sought", -0.75, False),
    ("languages", "The theory and design of programming languages", 0.0, False),
    ("law", "What is allowed", -0.25, False),
    ("linux", "The kernel, and what runs on it", 0.0, False),
    ("math", "Proofs and puzzles", 0.0, False),
    ("meta", "About this site", -0.5, False),
    ("networking", "Packets and protocols", 0.0, False),
    ("performance", "Faster, smaller", 0.0, False),
    ("person", "A life in computing", 0.0, False),
    ("philosophy", "Thinking about it all", -0.25, False),
    ("practices", "How people work", 0.0, False),
    ("privacy", "What nobody else needs to know", 0.0, False),
    ("programming", "When no other tag fits", 0.0, False),
    ("python", "The programming language", 0.0, False),
    ("release", "New versions", -0.25, False),
    ("rust", "The programming language", 0.0, False),
    ("science", "Other sciences", 0.0, False),
    ("security", "Attacks and defences", 0.0, False),
    ("show", "Look what I made", 0.25, False),
    ("slides", "Slides of talks", 0.0, False),
    ("starwars", "A galaxy far, far away", 0.0, False),
    ("testing", "Finding out before others do", 0.0, False),
    ("unix", "The family of operating systems", 0.0, False),
    ("video", "Moving pictures", 0.0, False),
    ("web", "Sites, and how they are made", 0.0, False),
)
TOPIC = "starwars"
MEDIA = frozenset({"book", "slides", "video"})

_SUBJECTS = """
garbage collection|a small compiler|our build system|the borrow checker|incremental backups|an old mainframe|type inference|feature flags|a
distributed queue|the scheduler|consensus|regular expressions|a text editor|memory allocators|character encodings|time zones|the
linker|a chess engine|undo|property-based tests|dependency updates|a home-grown database|the terminal|floating point|error
messages|caching|a static site|the page cache|code review|on-call work|latency at the tail|a weekend project|queries that plan
themselves|hash tables|a tiny kernel|version control|slow tests|the network stack|email|continuous integration
"""
SUBJECTS = [" ".join(subject.split()) for subject in _SUBJECTS.split("|")]
TITLES = (
    "What I learned about {} in {} days",
    "{}, explained with {} pictures",
    "Rewriting {} in {} lines",
    "Why we gave up on {} after {} years",
    "In defence of {} ({} notes)",
    "The {1} mistakes everybody makes with {0}",
    "How {} works, part {}",
    "Measuring {}: {} experiments",
    "A gentle introduction to {}, chapter {}",
    "{} for the other {} percent",
    "Notes on {}, revision {}",
    "Release: {} {}.0",
    "Debugging {} at {} in the morning",
)
QUESTIONS = (
    "How do you deal with {} when there are {} of you?",
    "Which {} would you recommend to a team of {}?",
    "What did {} cost you in the last {} years?",
)
SITES = (
    "blog.example.org",
    "notes.example.net",
    "papers.example.edu",
    "engineering.example.com",
    "lists.example.org",
    "talks.example.net",
    "wiki.example.com",
    "journal.example.edu",
)
OPENINGS = (
    "I have used {} for {} years and this matches what I saw.",
    "The part about {} deserves {} articles of its own.",
    "This is the best text on {} that I read in the last {} months.",
    "I am not convinced: with {} you pay for it {} times over.",
    "We tried the same with {} and went back after {} weeks.",
    "A good read, although {} is only {} percent of the story.",
    "Somebody should tell this to everyone who maintains {}; I know {} of them.",
    "My first {} was about {} lines, and it shows.",
    "Has anybody measured {} with more than {} threads?",
    "It took me {1} minutes to see why {0} matters here.",
)
MIDDLES = (
    "The numbers would look different on a machine with less memory.",
    "What is missing is a word about what happens when it fails half way.",
    "Most of the complexity comes from a decision that nobody remembers.",
    "It reads like magic until you draw the state on paper.",
    "The older paper on this is shorter and says nearly the same.",
    "I like that the author admits what did not work.",
    "A test would have found this before the users did.",
    "You can get most of the benefit by doing less.",
    "The comparison is not quite fair, but the point stands.",
    "There is a subtle race in the second example.",
    "I would rather have a boring tool that I understand.",
    "None of this helps if the disk lies to you.",
)
WORKPLACES = (
    "At {} we still run the first version.",
    "Our team at {} wrote about it some time ago.",
    "I maintain something like it for {}.",
    "Somebody at {} showed me a neat trick for this.",
)
CLOSINGS = (
    "Thanks for posting it.",
    "I will try that on the weekend.",
    "Happy to be proven wrong.",
    "Measure first, as always.",
    "Your mileage may vary.",
    "That said, I would not change it now.",
    "The comments below the article are worth reading, too.",
    "Does anybody have a link to the source?",
)
BODIES = (
    "I answered you below your story. I would like to hear more about {}.",
    "Thank you for the link. If you ever write about {}, let me know.",
    "I left a comment on your story. It became longer than I meant it to, sorry about that.",
    "A detail that I did not want to post in public: I know {} from the inside, so take my comment with a grain of salt.",
)
HATS = (
    "Maintainer of a kernel",
    "Author of the book",
    "Database developer",
    "Conference organiser",
    "Works on a browser",
)
REASONS = ("The title of the page itself", "A tag that fits better", "Off topic", "A second link to the same page", "")


def username(number: int, source: random.Random) -> str:
    """Different for different numbers."""
    return f"{source.choice(ADJECTIVES)}{source.choice(('', '_', '-'))}{source.choice(NOUNS)}{number}"


def workplace(number: int) -> str:
    """Different for different numbers, and found in texts of that user alone."""
    return f"{NOUNS[number % len(NOUNS)].title()}works-{number:05d}"


def title(source: random.Random, *, question: bool) -> str:
    text = source.choice(QUESTIONS if question else TITLES).format(
        source.choice(SUBJECTS), 2 + int(source.random() * 98)
    )
    return text[0].upper() + text[1:]


def paragraphs(author: int, source: random.Random) -> list[str]:
    """One or two paragraphs; some say where their author works."""
    choice, uniform = source.choice, source.random
    sentences = [choice(OPENINGS).format(choice(SUBJECTS), 2 + int(uniform() * 98))]
    sentences += [choice(MIDDLES) for _ in range(int(uniform() * 3))]
    if uniform() < 0.3:
        sentences.append(choice(WORKPLACES).format(workplace(author)))
    sentences.append(choice(CLOSINGS))
    if len(sentences) < 4 or uniform() < 0.5:
        return [" ".join(sentences)]
    return [" ".join(sentences[:2]), " ".join(sentences[2:])]


def rendered(texts: list[str]) -> str:
    """As HTML. The words above have no character that would have to be escaped."""
    return "\n".join(f"<p>{text}</p>" for text in texts)
