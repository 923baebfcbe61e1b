"""Draw the tickets of a shop's service desk in two months, with the truth beside them.

Run: python tickets.py [FOLDER]

Each ticket is a few sentences about one subject, and each subject belongs to one team, except that
two subjects are shared by two teams. The files are

    may.csv, june.csv    id, date, text, team: some teams are wrong, as if filed in haste
    half.csv             the tickets of May, of which one in two has no team
    inbox.csv            tickets of June without their teams
    truth.csv            id, team, subject: what each ticket is about
"""

import csv
import random
import sys
from pathlib import Path

WRONG = 0.04  # of the teams in may.csv and june.csv
MAY, JUNE = 3000, 1000

# subject: its teams, its share of the tickets in May and in June, its sentences
SUBJECTS = {
    "double charge": (["billing"], 9, 9, [
        "I was charged twice for order {order}.", "My card shows two payments of {amount} euros.",
        "The amount of {amount} euros left my account twice.", "Please cancel the second payment.",
        "The bank says that both charges come from you.",
    ]),
    "invoice": (["billing"], 9, 9, [
        "I need an invoice with our company name.", "The VAT number on the invoice is wrong.",
        "Please send the invoice for order {order} again.",
        "Our accounting needs the invoice as PDF.",
        "The invoice shows the old address of our company.",
    ]),
    "late parcel": (["delivery"], 12, 20, [
        "My parcel should have arrived on {day}.", "The tracking has not moved since {day}.",
        "The courier has not come yet.", "Tracking says that the parcel is in the depot.",
        "When will order {order} be delivered?",
    ]),
    "damaged parcel": (["delivery"], 6, 6, [
        "The box was crushed when it arrived.", "The courier left the parcel in the rain.",
        "The {thing} is broken, the packaging was torn.", "I have photos of the damaged box.",
        "The courier threw the parcel over the fence.",
    ]),
    "login": (["accounts"], 11, 9, [
        "I cannot log in any more.", "The password reset link does not arrive.",
        "It says that my password is wrong.", "My account is locked after three attempts.",
        "I no longer have the email address of my account.",
    ]),
    "close account": (["accounts"], 5, 5, [
        "Please delete my account and my data.", "I want to unsubscribe from the newsletter.",
        "Which personal data do you store about me?", "Please remove my address from your list.",
        "I ask for deletion under the privacy law.",
    ]),
    "app crash": (["app"], 9, 8, [
        "The app crashes when I open the basket.", "After the update the app closes at once.",
        "The screen of the app stays white.", "I installed the app again, it still crashes.",
        "The app freezes on my phone.",
    ]),
    "app search": (["app"], 6, 5, [
        "The search in the app finds nothing.", "Filters of the search are reset after each tap.",
        "Sorting by price does not work in the app.",
        "The search shows articles that are sold out.",
        "I type {thing} and the search shows something else.",
    ]),
    "wrong size": (["returns"], 9, 8, [
        "The {thing} is too small, I need another size.", "I would like to exchange the {thing}.",
        "Do you have the {thing} in a larger size?", "The colour differs from the picture.",
        "I want to swap it for size {size}.",
    ]),
    "return label": (["returns"], 8, 7, [
        "I have no return label.", "Where can I drop off the return?",
        "The return label cannot be printed.", "How many days do I have to return the {thing}?",
        "The shop at the corner does not accept returns.",
    ]),
    "refund": (["billing", "returns"], 8, 8, [
        "I am waiting for my refund.", "The refund of {amount} euros has not arrived.",
        "You received the {thing} two weeks ago, where is my money?",
        "Please tell me when the refund will be paid.", "The refund is lower than the price.",
    ]),
    "change address": (["delivery", "accounts"], 8, 8, [
        "I have moved, please change my address.", "My street number is wrong in order {order}.",
        "Can you send it to my new address instead?", "The postcode of my address is wrong.",
        "I gave the address of my old flat.",
    ]),
    "code": (["accounts"], 0, 9, [
        "The verification code never arrives by SMS.", "I enter the code and it says expired.",
        "Since the new two-step login I get no code.",
        "The authenticator shows a code that you refuse.",
        "I have a new phone number, so I cannot get the verification code.",
    ]),
}  # fmt: skip
OPENING = ["Hello,", "Hi,", "Good morning,", "Dear team,", "", ""]
AROUND = [
    "I have already called twice.", "Please help.", "This is urgent.",
    "I am a customer since 2019.", "I could not find it on your page.", "It is the second time.",
    "Nobody answered my last message.", "I would be glad about a quick answer.",
    "I like your shop, but this is annoying.",
]  # fmt: skip
CLOSING = ["Thank you", "Kind regards", "Best", "Thanks in advance", "", ""]
SIGNATURE = "This message is confidential and meant only for the person to whom it is addressed."
THINGS = ["jacket", "lamp", "pair of shoes", "kettle", "backpack", "dress", "chair", "headphones"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]


def ticket(subject, rng):
    """Return a text of one to three sentences about a subject."""
    sentences = rng.sample(SUBJECTS[subject][3], rng.choice([1, 2, 2, 3, 3]))
    sentences += rng.sample(AROUND, rng.choice([0, 1, 1, 2, 2]))
    rng.shuffle(sentences)
    text = " ".join([rng.choice(OPENING), *sentences, rng.choice(CLOSING)]).strip()
    text = text.format(
        order=rng.randrange(10_000, 99_999), amount=rng.randrange(9, 200), day=rng.choice(DAYS),
        thing=rng.choice(THINGS), size=rng.randrange(36, 46),
    )  # fmt: skip
    return f"{text} {SIGNATURE}" if rng.random() < 0.05 else text


def month(name, n, column, rng):
    """Return rows of tickets: id, date, text, given team, true team, subject."""
    teams = sorted({team for row in SUBJECTS.values() for team in row[0]})
    subjects = rng.choices(list(SUBJECTS), [row[column] for row in SUBJECTS.values()], k=n)
    rows = []
    for i, subject in enumerate(subjects):
        true = rng.choice(SUBJECTS[subject][0])
        others = [team for team in teams if team not in SUBJECTS[subject][0]]
        given = rng.choice(others) if rng.random() < WRONG else true
        date = f"2026-{name}-{1 + i * 28 // n:02}"
        rows.append([f"{name}-{i:04}", date, ticket(subject, rng), given, true, subject])
    return rows


def write(path, header, rows):
    """Write a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    print(f"{path.name}: {len(rows):,} rows")


def main(folder):
    """Draw both months and write all files."""
    rng = random.Random(1)
    may, june = month("05", MAY, 1, rng), month("06", JUNE, 2, rng)
    columns = ["id", "date", "text", "team"]
    write(folder / "may.csv", columns, [row[:4] for row in may])
    write(folder / "june.csv", columns, [row[:4] for row in june])
    half = [[*row[:3], row[4] if rng.random() < 0.5 else ""] for row in may]
    write(folder / "half.csv", columns, half)
    write(folder / "inbox.csv", columns[:3], [row[:3] for row in june])
    truth = [[row[0], row[4], row[5]] for row in may + june]
    write(folder / "truth.csv", ["id", "team", "subject"], truth)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
