"""Words for the data generator: answers that read like homework, people who could be students."""

_FIRST_NAMES = """
Ada Amara Anders Anika Antonio Aoife Bao Beatriz Boris Carmen Chidi Chloe Dalia Daniel Divya Elif Emeka Emil Esther
Farah Felix Fatima Gabriel Grace Hana Henrik Ida Ines Ivan Jamal Jana Jonas Jun Kalani Karim Katya Kofi Lars Leila Lena
Liam Linh Lucia Malik Marek Maria Mateo Mei Mila Mina Nadia Nils Noah Nora Olga Omar Otto Paula Pedro Petra Priya
Quentin Rafael Ravi Rosa Samir Sara Sofia Soren Tariq Teresa Theo Tomas Uma Vera Viktor Wanda Wei Xenia Yara Yusuf Zara
Zoe
"""
FIRST_NAMES = _FIRST_NAMES.split()

_LAST_NAMES = """
Abebe Adeyemi Ahmed Almeida Andersen Bauer Becker Bianchi Castro Chen Costa Dahl Diaz Dubois Eriksen Fischer Flores
Garcia Gupta Haddad Hansen Hoang Ibrahim Ito Ivanova Jansen Jensen Kaya Khan Kim Kowalski Kumar Larsen Lee Lopez
Lindgren Mahmoud Martin Mbeki Meyer Moreau Mueller Nakamura Nguyen Novak Nowak Okafor Okoye Olsen Osei Park Patel
Pereira Petrov Popescu Rahman Ramos Rossi Ruiz Sato Schmidt Sharma Silva Singh Smirnov Sousa Suzuki Tanaka Toth Tran
Vargas Vega Virtanen Wagner Wang Weber Wolf Wright Yilmaz Zhang
"""
LAST_NAMES = _LAST_NAMES.split()

TOPICS = (
    "Processes and threads",
    "System calls",
    "Virtual memory",
    "Page tables",
    "Scheduling",
    "Locks and races",
    "Deadlock",
    "File systems",
    "Crash recovery",
    "Logging and journals",
    "Caches",
    "Networking",
    "Remote procedure calls",
    "Consistency",
    "Replication",
    "Consensus",
    "Transactions",
    "Virtual machines",
    "Access control",
    "Privacy",
)

QUESTIONS = (
    "In your own words: which problem does {topic} solve, and for whom?",
    "Give an example in which {topic} goes wrong. What does the user see?",
    "What does {topic} cost, in time and in memory? How would you measure it?",
    "What is one thing about {topic} that the lecture left open for you?",
    "Compare two designs for {topic}. Which would you choose for a phone?",
    "Which assumption about {topic} would you question, and why?",
)

OPENINGS = (
    "I think the main point of {topic} is {idea}.",
    "As I understood the lecture, {topic} is about {idea}.",
    "My first guess was wrong: {topic} really comes down to {idea}.",
    "When I tried it on my laptop, what stood out about {topic} was {idea}.",
    "The paper says that {topic} needs {idea}, and I mostly agree.",
    "Without {topic} we would lose {idea}.",
    "For {topic} the hard part seems to be {idea}.",
)

IDEAS = (
    "keeping one program's mistakes away from all the others",
    "an order of events on which everybody agrees",
    "doing the slow thing only when somebody waits for it",
    "a promise that still holds after the power fails",
    "hiding the hardware without making it slower",
    "deciding early what may be shared",
    "a trade between memory now and time later",
    "making the common case fast and the rare case correct",
    "finding out who is waiting for whom",
    "never believing what the other side says about itself",
    "one place where the truth is written down",
    "state that can be thrown away and built again",
)

MIDDLES = (
    "In the example with {number} clients it took me a while to see why the second one has to wait.",
    "I counted {number} steps, and only two of them touch the disk.",
    "My measurement gave {number} microseconds, about twice what the book says.",
    "If the machine stops after step {number}, the log is still enough to go on.",
    "With {number} threads the result was different on every third run.",
    "The invariant is easy to say and hard to keep once there are {number} writers.",
    "I drew the state for {number} rounds before I believed it.",
    "A test with {number} repetitions never failed, which proves nothing.",
    "The lecture's picture helped, but I would have drawn the arrow the other way.",
    "I am not sure whether this also holds when a message is lost.",
)

CLOSINGS = (
    "So I would choose the simpler design.",
    "I would like to see this with real numbers.",
    "Could we talk about this in the next session?",
    "That is why I changed my mind about it.",
    "It would be different on a phone, where energy counts.",
    "I worked on this with my neighbour, but the text is mine.",
    "In short: measure first.",
    "I still do not know what happens if both fail at once.",
    "The second variant is safer, and only a little slower.",
)
