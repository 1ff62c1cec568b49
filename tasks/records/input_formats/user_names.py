"""The names of users: which words of a column's name say that it holds a vehicle, a device, a person or a card.

Whoever is none has no word here: a trip, a route, a stop, an order or a request is another one the next time.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator


def _words(written: str) -> list[str]:
    return written.split()


COUNTED = frozenset(
    _words(
        "second sec minute min hour hr day date weekday week month quarter year time timestamp morning afternoon "
        "evening night today yesterday latest monday tuesday wednesday thursday friday saturday sunday january "
        "february march april june july august september october november december stunde uhr tag woche monat jahr "
        "heure jour semaine mois annee hora dia semana mes ano giorno settimana mese uur part chunk batch split "
        "shard segment shift page snapshot export dump trip tour ride journey route session trips tours rides journeys "
        "routes sessions hours days parts data file record records output activity workout track walk run hike"
    )
)
"""What is counted, and each number of it is another user: times, parts of a whole, and trips."""

_PASSING = frozenset(
    _words("stop line block order request booking ride fare transaction tap event message row sequence point leg")
)
"""What else is no user."""

_WHO = _words(
    "vehicle bus user device taxi cab driver tram train truck car van ship vessel boat aircraft plane bike bicycle "
    "scooter person participant subject rider passenger customer individual animal patient employee courier sensor "
    "tracker logger collar phone handset beacon card veh dev badge rfid "
    "trolley trolleybus coach lorry ambulance wagon loco locomotive trainset trailer tractor moped motorcycle "
    "motorbike ebike drone uav robot ferry buoy drifter glider subscriber account client student worker staff visitor "
    "guest volunteer respondent athlete runner cyclist pedestrian traveller traveler commuter resident pilot agent "
    "mobile smartphone terminal gps obu modem probe smartcard chip usr cust pax drv emp "
    "fahrzeug fahrzeugs kfz wagen zug schiff fahrer gerat geraet nutzer benutzer kunde kunden karte karten teilnehmer "
    "vehicule voiture camion navire bateau conducteur chauffeur appareil capteur carte utilisateur usager abonne "
    "vehiculo movil autobus coche conductor chofer dispositivo tarjeta usuario cliente persona barco buque "
    "veiculo onibus carro caminhao motorista condutor aparelho cartao utilizador veicolo autista tessera utente nave "
    "voertuig bestuurder kaart gebruiker schip fordon fordons kjoretoy koretoj bil pojazd pojazdu kierowca karta "
    "vozidlo vozidla ridic ajoneuvo kortti laite arac otobus surucu cihaz kart kendaraan kartu pengemudi "
    "автомобиль авто тс водитель устройство карта 车辆 司机 设备 用户 車両 端末 利用者 차량"
)
"""Who or what may be a user, the likeliest first."""
_OF_THEMSELVES = _words(
    "imei imsi vin medallion icao hexident icaoaddress icaohex modescode licenseplate licenceplate plate numberplate "
    "registration tailnumber tailno tailnum imo macaddress mac deveui msisdn iccid maid gaid idfa adid "
    "advertisingid adsid fleetnumber fleetno fleetnum regnumber regno regnr regplate rego hacklicense "
    "kennzeichen immatriculation plaque matricule matricula placa patente targa kenteken spz plaka plat nopol "
    "rejestracja госномер 车牌 車番 登録"
)
"""The fields' own numbers of vehicles, devices and people."""
_BEFORE_ALL = ("mmsi", "icao24")
"""Numbers that nobody mistakes, where a feed has other ids of users too."""
_WEAK = _words("unit tag meter member household machine asset node object thing buoy monitor instrument")
"""What is a user only with a word such as `id` beside it."""
_WEAK_ALONE = _words("asset callsign hex reg username nickname")
_PLACES = _words("station")
"""What is a user where nobody moves, and a place where somebody does."""

_IDS = _words("id uuid uid ref identifier uniqueid")
_NUMBERS = _words(
    "number no nr num code key serial serialnumber serialno token nummer numer numero kennung identifiant codigo "
    "号 号码 编号 番号 번호"
)
_NAMES = _words("name label")
_SUFFIXES = [*_IDS, *_NUMBERS, *_NAMES]
"""What may follow it in a column's name, the likeliest first."""
_PREFIXES = _words("id ref codigo cod code identifiant")
_PREFIXES_OF_NUMBERS = _words("nr numero num no nomor numer")
"""The same before it, as in `id_vehiculo`. Before people a number is likely how many they are."""
_NEVER_ALONE = frozenset(_words("van dev veh gps mobile terminal probe bil тс emp kart car"))
"""What has another meaning without such a word."""
_PEOPLE = frozenset(_words("user person passenger rider customer participant subject driver pax student visitor"))
_ONE_OF_THEM = (_PEOPLE - {"user"}) | frozenset(
    _words(
        "individual patient employee courier client worker staff guest volunteer respondent athlete runner cyclist "
        "pedestrian traveller traveler commuter resident emp drv hacklicense card smartcard phone smartphone handset "
        "imsi msisdn iccid maid gaid idfa "
        "cust adid advertisingid fahrer kunde kunden karte karten teilnehmer conducteur chauffeur carte usager abonne "
        "conductor chofer tarjeta cliente persona motorista condutor cartao autista tessera utente bestuurder kaart "
        "kierowca karta ridic kortti surucu kart kartu pengemudi водитель карта 司机 利用者"
    )
)
"""People, and what goes where one of them goes; users are often vehicles."""
_LEFT_OUT = frozenset(
    _words(
        "of the de del du da do la le el di info data details properties attributes descriptor meta descr local unique "
        "external internal public hashed anonymous anonymized anonymised masked encrypted original "
        "raw hash md5 sha sha1 sha256"
    )
)
"""Words that say nothing on who it is, as in `vehicle.info.id`."""
_PERHAPS_ROWS = ("vid", "uniqueid", "uid", "uuid", "guid", "entityid", "id")
"""Names of users, and as often of rows."""

Rank = tuple[int, int, int]


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters without accents: `vehiclePlateNo` has three, as `n° de véhicule`."""
    plain = "".join(
        one for one in unicodedata.normalize("NFKD", name.replace("°", "o")) if not unicodedata.combining(one)
    )
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[0-9]+", unicodedata.normalize("NFC", plain))
    return [one.lower() for one in found]


def _ranked() -> Iterator[tuple[str, Rank]]:
    for (place, who), (rank, suffix) in itertools.product(enumerate(_WHO), enumerate(_SUFFIXES)):
        yield who + suffix, (0, rank, place)
    for (place, who), (rank, suffix) in itertools.product(enumerate(_OF_THEMSELVES), enumerate(["", *_SUFFIXES])):
        yield who + suffix, (0, rank, len(_WHO) + place)
    for place, who in enumerate(_BEFORE_ALL):
        yield who, (0, 0, place - len(_BEFORE_ALL))
    for place, who in enumerate([*_WHO, *_OF_THEMSELVES]):
        of_numbers = [] if who in _PEOPLE else _PREFIXES_OF_NUMBERS
        for rank, prefix in enumerate([*_PREFIXES, *of_numbers]):
            yield prefix + who, (0, rank, place)
    for (place, who), (rank, suffix) in itertools.product(enumerate(_WEAK), enumerate(_SUFFIXES)):
        yield who + suffix, (1, rank, place)
    for (place, who), (rank, suffix) in itertools.product(enumerate(_PLACES), enumerate(_SUFFIXES)):
        yield who + suffix, (4 if suffix in _NAMES else 2, rank, place)


def _best(ranked: Iterable[tuple[str, Rank]]) -> dict[str, Rank]:
    best: dict[str, Rank] = {}
    for name, rank in ranked:
        plain = name if name.isascii() else "".join(words_of(name))
        best[plain] = min(rank, best.get(plain, rank))
    return best


_USERS = _best(_ranked())
_ALONE = _best(
    (who, (of, len(_SUFFIXES), place))
    for of, some in enumerate((_WHO, _WEAK_ALONE))
    for place, who in enumerate(some)
    if who not in _NEVER_ALONE
)
_STRONG = re.compile(r"(mmsi|imei|imsi|icao24|licenseplate|licenceplate|numberplate)(id|no|number|num|code|hash)?")


def user_rank(name: str) -> Rank | None:
    """Return how likely a column names a user, the least the likeliest; None if its name does not say so.

    The words at the end of its path decide, as in `vehicle.vehicle.id`; those that say nothing are left out.
    """
    words = _telling(name)
    ends = ["".join(words[-n:]) for n in range(1, len(words) + 1)]
    found = [_USERS[end] for end in ends if end in _USERS]
    alone = "".join(_telling(name.rpartition(".")[2]))
    found += [_ALONE[alone]] if alone in _ALONE else []
    if not found and ends and any(map(_STRONG.fullmatch, (ends[0][at:] for at in range(len(ends[0]))))):
        return (0, 0, len(_WHO))
    if not found and ends and ends[-1] in _PERHAPS_ROWS:
        return (3, _PERHAPS_ROWS.index(ends[-1]), 0)
    return min(found, default=None)


def _telling(name: str) -> list[str]:
    """Return the words of a name that tell; of `VehicleRef.value`, as SIRI has it in JSON, those of the id."""
    before, _, last = name.rpartition(".")
    if last == "value" and words_of(before)[-1:] and words_of(before)[-1] in _IDS:
        name = before
    return [one for one in words_of(name) if one not in _LEFT_OUT]


def names_no_user(name: str) -> bool:
    """Return whether a column is named like what is another one the next time, as `trip_id` and `order.number` are."""
    words = [one for one in _telling(name) if one not in _SUFFIXES]
    return user_rank(name) is None and words[-1:] != [] and words[-1] in COUNTED | _PASSING


def names_people(name: str) -> bool:
    """Return whether a column names people, or what each of them carries: where these were may be a secret."""
    words = [one for one in _telling(name) if one not in _SUFFIXES]
    rank = user_rank(name)
    return rank is not None and rank[0] == 0 and not _ONE_OF_THEM.isdisjoint([*words[-1:], "".join(words[-2:])])


def may_be_rows(name: str) -> bool:
    """Return whether a column's name is of users, and as often of rows."""
    rank = user_rank(name)
    return rank is None or rank[0] >= 3
