"""Which columns look as if they hold something about a person: by their type, their name, and whether their table leads to a person.

One list for the checks (`edna.W207`) and for the audit. Looks at model definitions only, never into rows, so it guesses: a column may
hold a person's name and be called anything, and what looks personal may be about nobody. It rather names one too many.
Knows nothing of disguises: whether one of them covers a column is asked elsewhere.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Iterator
from typing import Any, Final

from django.apps import apps
from django.db.models import (
    CharField,
    DateField,
    EmailField,
    Field,
    FileField,
    ForeignKey,
    GenericIPAddressField,
    IntegerField,
    JSONField,
    Model,
    TextField,
    URLField,
)

from edna import conf, registry


class Looks(enum.Enum):
    """What a column looks like."""

    NAME = "name"
    EMAIL = "e-mail address"
    PHONE = "phone number"
    ADDRESS = "address"
    IP = "IP address"
    BIRTH = "date of birth"
    NUMBER = "number or handle of a person"
    ABOUT = "trait of a person"
    DEVICE = "device"
    PLACE = "place"
    WEB = "web address"
    FILE = "file"
    TEXT = "free text"
    CREDENTIAL = "password or token"
    DATA = "structured data"
    PERSON = "reference to a person"


#: Whoever reads one of these knows who it is, or how to reach them, in whatever table it stands.
SAYS_WHO: Final = frozenset(
    {Looks.NAME, Looks.EMAIL, Looks.PHONE, Looks.ADDRESS, Looks.IP, Looks.BIRTH, Looks.NUMBER, Looks.DEVICE}
)

#: Names of columns, as words in their order; a column's name has them anywhere in it.
_WORDS: Final[dict[Looks, str]] = {
    Looks.EMAIL: "email mail e_mail",
    Looks.IP: "ip ipaddr ipaddress remote_addr remote_host",
    Looks.PHONE: "phone telephone tel mobile cellphone fax phonenumber",
    Looks.ADDRESS: "address addr address1 address2 street street1 street2 line1 line2 line3 line4 city town zip zipcode postcode "
    "postal house_number",
    Looks.BIRTH: "birth birthday birthdate dob born",
    Looks.NUMBER: "ssn passport iban tax_id taxid vat_number national_id license_plate licence_plate twitter github mastodon telegram "
    "facebook instagram linkedin skype matrix_id social_id",
    Looks.DEVICE: "user_agent useragent device_id fingerprint",
    Looks.NAME: "username user_name login nickname nick screen_name display_name displayname full_name fullname real_name realname "
    "first_name firstname last_name lastname given_name family_name middle_name surname maiden_name unaccented_name legal_name",
}
#: Behind "mail" these say of something else that it is about mails.
_ABOUT_MAIL: Final = (
    "domain domains host server backend provider port pass folder dir directory path "
    "template subject type format interval frequency prefix header footer status mode"
)
#: Before "mail": whoever hears of a thing, whose name is no person's.
_FOR_NEWS: Final = "notification notifications notify warning alert reminder abuse reservation"
#: As many as write "name" behind one of these mean a person's.
_PEOPLE: Final = (
    "author user poster sender recipient customer contact owner creator reporter submitter editor member person guest visitor client "
    "student teacher employee patient reviewer commenter signer payer buyer billing shipping"
)
#: Whoever a reference of such a name leads to deals with the row, and it may be of another.
_SERVING: Final = (
    "assigned assignee agent handler handled approver approved reviewed moderated processed resolved closed locked "
    "verified checked"
)
#: These tell about somebody only where the table leads to a person.
_WORDS_NEAR_A_PERSON: Final[dict[Looks, str]] = {
    Looks.ABOUT: "gender sex religion ethnicity nationality country language_code affiliation company employer occupation job_title",
    Looks.PLACE: "latitude longitude lat lng lon geo location",
    Looks.WEB: "homepage website avatar_url",
    Looks.CREDENTIAL: "password token apikey api_key secret session_key",
    Looks.TEXT: "title subject bio about signature note notes comment comments remark remarks message body text description reason "
    "object_repr",
}
#: Several people in one column, each by an address.
_LISTS: Final = "cc bcc cc_list recipients emails mails email_list mail_list mailing_list watchers subscribers"
#: What opens an account besides, in whatever table it stands.
_OPENS_AN_ACCOUNT: Final = (
    "passwd passphrase passcode pin otp totp hotp seed credential credentials private_key signing_key encryption_key access_key auth_key "
    "activation_key confirmation_key recovery_code recovery_codes backup_code backup_codes session_data"
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def looks(field: Field[Any, Any], *, link: str = "") -> Looks | None:
    """What a column looks like; None if like nothing of a person's.

    ``link`` is a reference to a person beside it: its name with ``_name`` behind it is theirs.
    """
    if isinstance(field, ForeignKey):
        return Looks.PERSON if _is_principal(field.related_model) else None
    key, column = key_of_copy(field) or (None, "")
    if plain := _by_itself(field, link or (key.name if key else "")):
        return plain
    if key and _is_text(field) and not field.choices and _identifies(key, column):
        return Looks.NAME
    if field.choices or not _is_about_people(field.model):
        return None
    words = _words(field.name)
    if _is_text(field) and words[-1] == "name" and _each_row_is_a_person(field.model):
        return Looks.NAME
    return _near_a_person(field, words)


def says_who(field: Field[Any, Any], *, link: str = "") -> bool:
    """Whether it looks like something by which somebody is known or reached: beside a ``link``, whoever that leads to."""
    if looks(field, link=link) not in SAYS_WHO:
        return False
    copy = key_of_copy(field)
    return not link or (copy[0].name == link if copy else not is_of_another(field.name, beside=link))


def may_name(field: Field[Any, Any]) -> bool:
    """Whether it says who somebody is, or has room for a text or a document that does."""
    return says_who(field) or (isinstance(field, TextField | JSONField) and not field.choices)


def lists_people(field: Field[Any, Any]) -> bool:
    """Whether it looks as if several people stood in it, in a JSON list or a text with commas."""
    if not isinstance(field, TextField | JSONField | CharField) or field.choices:
        return False
    words = _words(field.name)
    if words in (("to",), ("reply", "to")):
        beside = (_words(each.name) for each in field.model._meta.local_concrete_fields)
        return any(_has_any(each, "cc bcc sender") for each in beside)
    return not isinstance(field, FileField | EmailField) and _has_any(words, _LISTS)


def is_of_another(name: str, *, beside: str) -> bool:
    """Whether a column is about another person than the reference beside it: `submitter_email`, beside `assigned_to`."""
    link, first = _words(beside), _words(name)[0]
    return _has_any(link, _SERVING) and first in _PEOPLE.split() and first not in link


def key_of_copy(field: Field[Any, Any]) -> tuple[ForeignKey[Any, Any], str] | None:
    """Of `poster_name`, beside a key `poster` to a person: that key, and what stands behind its name. Who else is named in the row is
    somebody else."""
    keys = [
        each
        for each in field.model._meta.concrete_fields
        if isinstance(each, ForeignKey) and field.name.startswith(f"{each.name}_") and _is_principal(each.related_model)
    ]
    for key in sorted(keys, key=lambda each: len(each.name), reverse=True):
        rest = field.name.removeprefix(f"{key.name}_")
        words = _words(rest)  # `user_agent` is no agent of the user's
        if words[-1] == "name" or _identifies(key, rest) or any(_has_any(words, names) for names in _WORDS.values()):
            return key, rest
    return None


def way_to_a_person(model: type[Model]) -> str | None:
    """A path of foreign keys from the table to a principal, the shortest; "" if its rows are principals; None if there is none."""
    if _is_principal(model):
        return ""
    seen, waiting = {model}, [(model, "")]
    for here, path in waiting:
        for field in here._meta.concrete_fields:
            target = field.related_model if isinstance(field, ForeignKey) else None
            if not isinstance(target, type):
                continue
            further = f"{path}__{field.name}".strip("_") if path else field.name
            if _is_principal(target):
                return further
            if target not in seen:
                seen.add(target)
                waiting.append((target, further))
    return None


def keys_of_accounts(model: type[Model]) -> list[ForeignKey[Any, Any]]:
    """One-to-one keys to it that stand in the rows of principals: a row of settings, each of one account."""
    try:
        principals = registry.principal_models()
    except LookupError:
        return []
    return [
        field
        for principal in principals
        for field in principal._meta.local_fields
        if isinstance(field, ForeignKey)
        and field.unique
        and not field.remote_field.parent_link
        and field.related_model is model
        and not _is_principal(model)
    ]


def relations_to_people(model: type[Model]) -> list[Any]:
    """Its many-to-many relations to principals: whoever speaks in a talk."""
    return [each for each in model._meta.local_many_to_many if _is_principal(each.related_model)]


def tables() -> Iterator[type[Model]]:
    """Every table that a model of the site stands for, hidden ones too; none of edna's own."""
    for model in apps.get_models(include_auto_created=True):
        if not model._meta.proxy and not model._meta.swapped and model._meta.app_label not in conf.OWN_LABELS:
            yield model


def _by_itself(field: Field[Any, Any], link: str) -> Looks | None:
    """What its type, or its name, says wherever it stands."""
    if isinstance(field, EmailField):
        return Looks.EMAIL
    if isinstance(field, GenericIPAddressField):
        return Looks.IP
    words = _words(field.name)
    if isinstance(field, DateField | IntegerField) and not field.choices:
        return Looks.BIRTH if _has_any(words, _WORDS[Looks.BIRTH]) else None
    if field.choices or not _is_text(field):
        return None
    if words[-1] == "name" and _has_any(words[:-1], f"{_PEOPLE} {link}"):
        return Looks.NAME
    about_mail = _has_any(words[-1:], _ABOUT_MAIL)
    kinds = (kind for kind, names in _WORDS.items() if _has_any(words, names))
    return next((kind for kind in kinds if not (kind is Looks.EMAIL and about_mail)), None)


def _identifies(key: ForeignKey[Any, Any], name: str) -> bool:
    """Whether a person is told from others by their column of this name: a slug, a handle."""
    target: Any = key.related_model
    column = next((each for each in target._meta.concrete_fields if each.name == name), None)
    return (
        column is not None and column.unique and not column.primary_key and _is_text(column) and not is_credential(name)
    )


def _near_a_person(field: Field[Any, Any], words: tuple[str, ...]) -> Looks | None:
    if isinstance(field, JSONField):
        return Looks.DATA
    if isinstance(field, FileField):
        return Looks.FILE
    if _is_text(field) and words[-1] in _PEOPLE.split():
        return Looks.NAME
    for kind, names in _WORDS_NEAR_A_PERSON.items():
        if _has_any(words, names) and (kind is Looks.PLACE or _is_text(field)):
            return kind
    if isinstance(field, TextField):
        return Looks.TEXT
    return Looks.WEB if isinstance(field, URLField) else None


def _is_text(field: Field[Any, Any]) -> bool:
    return isinstance(field, CharField | TextField) and not isinstance(field, FileField)


def _is_about_people(model: type[Model]) -> bool:
    """Its rows lead to somebody, or say by themselves who it is, as a list of subscribers does."""
    return way_to_a_person(model) is not None or bool(relations_to_people(model)) or _holds_addresses(model)


def _each_row_is_a_person(model: type[Model]) -> bool:
    """Theirs, or one to one with theirs, or with an address of theirs."""
    return (
        _is_principal(model)
        or any(not _has_any(_words(each.name), _FOR_NEWS) for each in _addresses(model))
        or any(
            isinstance(field, ForeignKey) and field.unique and _is_principal(field.related_model)
            for field in model._meta.concrete_fields
        )
    )


def _holds_addresses(model: type[Model]) -> bool:
    return any(_addresses(model))


def _addresses(model: type[Model]) -> Iterator[Field[Any, Any]]:
    return (field for field in model._meta.concrete_fields if _by_itself(field, "") in (Looks.EMAIL, Looks.PHONE))


def _is_principal(model: object) -> bool:
    try:
        principals = registry.principal_models()
    except LookupError:  # `edna.E003` speaks about it
        return False
    concrete = getattr(getattr(model, "_meta", None), "concrete_model", None)
    return any(concrete is each._meta.concrete_model for each in principals)


def is_credential(name: str) -> bool:
    """Whether a column of that name, or a key of a document, looks like what opens an account: a password's hash, a token, a key. ``key``
    alone is one: Django REST framework, django-otp and django-allauth call so what they let somebody in by."""
    words = _words(name)
    # Not remembered: a document's keys are anything, and may tell about a person.
    return words == ("key",) or _has_any(words, f"{_WORDS_NEAR_A_PERSON[Looks.CREDENTIAL]} {_OPENS_AN_ACCOUNT}")


def _words(name: str) -> tuple[str, ...]:
    return tuple(_CAMEL.sub("_", name).lower().strip("_").split("_"))


@functools.cache
def _has_any(words: tuple[str, ...], names: str) -> bool:
    text = f"_{'_'.join(words)}_"
    return any(f"_{name}_" in text for name in names.split())
