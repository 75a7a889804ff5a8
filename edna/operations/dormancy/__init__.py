"""Who is dormant, and what they are told: the rules, the mails, and what a schedule's job asks before it disguises somebody."""
