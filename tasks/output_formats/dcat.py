"""The entry for data portals: DCAT-AP with the terms of mobilityDCAT-AP 1.1, in JSON-LD.

It describes one dataset that grows by a day, however many days there are: the Data Package of all days, and the files
of the latest day. Portals would not want a dataset for each day.
"""

from typing import Any

from tasks.base.config_sections import Validation
from tasks.output_formats.catalogue import JSON, Medium
from tasks.output_formats.publication import Publication

_EU = "http://publications.europa.eu/resource/authority"
_MOBILITY = "https://w3id.org/mobilitydcat-ap"
_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "mobilitydcatap": f"{_MOBILITY}#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def catalogue(publication: Publication, page: str, package: str) -> dict[str, Any]:
    """Return the catalogue of a publication whose publisher is stated.

    Args:
        publication: The dataset and its releases.
        page: The name of the page over all days.
        package: The name of the Data Package.
    """
    address = publication.config.publisher.address
    agent, place = _publisher(publication), _place(publication.config.validation)
    described = {
        "dct:title": _text(publication.title),
        "dct:description": _text(publication.description),
        "dct:publisher": agent,
        "dct:spatial": place,
        "dct:language": {"@id": f"{_EU}/language/ENG"},
        "dct:issued": _day(publication.created.date()),
        "dct:modified": _day(publication.modified.date()),
        "dct:license": {"@id": publication.config.publisher.licence},
    }
    record = {
        "@id": "#record",
        "@type": "dcat:CatalogRecord",
        "foaf:primaryTopic": {"@id": "#dataset"},
        "dct:created": described["dct:issued"],
        "dct:modified": described["dct:modified"],
        "dct:language": described["dct:language"],
    }
    return {
        "@context": _CONTEXT | ({"@base": address} if address else {}),
        "@id": "#catalogue",
        "@type": "dcat:Catalog",
        **described,
        "dct:identifier": publication.config.dataset.name,
        "foaf:homepage": {"@id": page},
        "dcat:record": record,
        "dcat:dataset": _dataset(publication, described, page, package),
    }


def _dataset(publication: Publication, described: dict[str, Any], page: str, package: str) -> dict[str, Any]:
    days = publication.first_ones
    latest, privacy = publication.latest, publication.privacy
    formats = [one for one in publication.formats if one.name in latest.files and one.medium.file_type is not None]
    statement = (
        f"{privacy['statement']}. Unit of privacy: {privacy['unit_of_privacy']}. Neighbours: {privacy['neighbours']}"
    )
    files = [
        _distribution(f"{latest.folder}/{one.name}", f"{latest.date}, the latest day", one.medium, publication)
        for one in sorted(formats, key=lambda one: one.name)
    ]
    return {
        "@id": "#dataset",
        "@type": "dcat:Dataset",
        **{key: value for key, value in described.items() if key != "dct:license"},
        "dct:identifier": publication.config.dataset.name,
        "dct:accrualPeriodicity": {"@id": f"{_EU}/frequency/DAILY"},
        "dct:accessRights": {"@id": f"{_EU}/access-right/PUBLIC"},
        "dct:provenance": {"@type": "dct:ProvenanceStatement", "rdfs:label": _text(statement)},
        "dct:temporal": {
            "@type": "dct:PeriodOfTime",
            "dcat:startDate": _day(min(days)),
            "dcat:endDate": _day(max(days)),
        },
        "dcat:contactPoint": _contact(publication),
        "dcat:keyword": [_text(word) for word in (publication.config.value.name, "differential privacy", "H3")],
        "dcat:landingPage": {"@id": page},
        "dcat:theme": {"@id": f"{_EU}/data-theme/TRAN"},
        "mobilitydcatap:mobilityTheme": {"@id": f"{_MOBILITY}/mobility-theme/{publication.config.publisher.theme}"},
        "dcat:distribution": [_distribution(package, "all days, with their columns", JSON, publication), *files],
    }


def _distribution(path: str, title: str, medium: Medium, publication: Publication) -> dict[str, Any]:
    return {
        "@type": "dcat:Distribution",
        "dct:title": _text(f"{title} ({path.rpartition('.')[2]})"),
        "dcat:accessURL": {"@id": path},
        "dcat:downloadURL": {"@id": path},
        "dcat:mediaType": {"@id": f"https://www.iana.org/assignments/media-types/{medium.media_type}"},
        "dct:format": {"@id": f"{_EU}/file-type/{medium.file_type}"},
        "dct:license": {"@id": publication.config.publisher.licence},
        "dct:rights": {
            "@type": "dct:RightsStatement",
            "dct:type": {"@id": f"{_MOBILITY}/conditions-for-access-and-usage/licence-provided"},
        },
        "mobilitydcatap:mobilityDataStandard": {"@id": f"{_MOBILITY}/mobility-data-standard/other"},
    }


def _publisher(publication: Publication) -> dict[str, Any]:
    publisher = publication.config.publisher
    home = {} if publisher.homepage is None else {"foaf:workplaceHomepage": {"@id": publisher.homepage}}
    return {"@id": "#publisher", "@type": "foaf:Agent", "foaf:name": publisher.name, **home}


def _contact(publication: Publication) -> dict[str, Any]:
    publisher = publication.config.publisher
    is_mail = "://" not in str(publisher.contact)
    way = (
        {"vcard:hasEmail": {"@id": f"mailto:{publisher.contact}"}}
        if is_mail
        else {"vcard:hasURL": {"@id": publisher.contact}}
    )
    return {"@type": "vcard:Kind", "vcard:fn": publisher.name, **way}


def _place(box: Validation) -> dict[str, Any]:
    """Return the box that the configuration says records may be in."""
    corners = ((box.west, box.south), (box.east, box.south), (box.east, box.north), (box.west, box.north))
    ring = ", ".join(f"{longitude} {latitude}" for longitude, latitude in (*corners, corners[0]))
    return {"@type": "dct:Location", "dcat:bbox": {"@type": "geo:wktLiteral", "@value": f"POLYGON(({ring}))"}}


def _text(text: str) -> dict[str, str]:
    return {"@value": text, "@language": "en"}


def _day(date: Any) -> dict[str, str]:
    return {"@type": "xsd:date", "@value": str(date)}
