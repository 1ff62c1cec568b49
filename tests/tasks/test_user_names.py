"""Which column names the user, over headers of many feeds: vehicles, devices, people and cards, but no trips."""

import pytest

from tasks.records.input_formats.roles import recognise_roles
from tasks.records.input_formats.user_names import names_no_user, names_people

HEADERS = {
    "MMSI,BaseDateTime,LAT,LON,SOG,COG,Heading,VesselName,IMO,CallSign,VesselType,Status": "MMSI",
    "id,callsign,lat": "callsign",
    "id,asset,lat,lon": "asset",
    "id,plateNo,lat": "plateNo",
    "id,imei_number": "imei_number",
    "id,station_name": "id",
    "station_name,lat": "station_name",
    "id,vehicleRegistrationNumber": "vehicleRegistrationNumber",
    "card_no,station_id,station_name,tap_id": "card_no",
    "transaction_id,cardSerialNumber,route_id": "cardSerialNumber",
    "time,icao24,lat,lon,velocity,heading,vertrate,callsign,onground,squawk": "icao24",
    "hex,flight,alt_baro,gs,track,lat,lon": "hex",
    "now,r,hex_ident,flight_id": "hex_ident",
    "id,vehicle.trip.tripId,vehicle.vehicle.id,vehicle.vehicle.label": "vehicle.vehicle.id",
    "entity_id,trip_id,route_id,vehicle_id,label": "vehicle_id",
    "provider_id,device_id,vehicle_id,telemetry_id,trip_id,journey_ids": "vehicle_id",
    "sensor_id,sensor_type,location,lat,lon": "sensor_id",
    "medallion,hack_license,vendor_id,pickup": "medallion",
    "TRIP_ID,CALL_TYPE,ORIGIN_CALL,ORIGIN_STAND,TAXI_ID": "TAXI_ID",
    "Trip ID,Taxi ID,Company": "Taxi ID",
    "id_vehiculo,linea,fecha": "id_vehiculo",
    "numero_de_vehicule,ligne": "numero_de_vehicule",
    "N° véhicule,ligne": "N° véhicule",
    "Kennzeichen,Linie": "Kennzeichen",
    "FahrzeugNr,Linie": "FahrzeugNr",
    "fahrzeug_id,fahrt_id": "fahrzeug_id",
    "kenteken,lijn": "kenteken",
    "车牌号,经度": "车牌号",
    "госномер,маршрут": "госномер",
    "linha,placa,ordem": "placa",
    "matrícula,ruta": "matrícula",
    "plaka,hat": "plaka",
    "nr_pojazdu,linia": "nr_pojazdu",
    "VehicleNumber,Lines,Brigade": "VehicleNumber",
    "fleet_no,route": "fleet_no",
    "individual-local-identifier,tag-local-identifier,event-id": "individual-local-identifier",
    "event-id,tag-local-identifier": "tag-local-identifier",
    "deviceId,id,protocol": "deviceId",
    "device.uniqueId,id": "device.uniqueId",
    "end_device_ids.dev_eui,id": "end_device_ids.dev_eui",
    "trip.id,route.id,stop.id,order.id,request.id": None,
    "trip_id,route_id,stop_id,order_id,request_id,id": "id",
    "trip.vehicle.id,trip.id": "trip.vehicle.id",
    "vehicle.trip.id,vehicle.info.id": "vehicle.info.id",
    "device.model.id,x": None,
    "order_number,passenger_count,num_passenger,request_uuid": None,
    "MonitoredVehicleJourney.VehicleRef,MonitoredVehicleJourney.LineRef": "MonitoredVehicleJourney.VehicleRef",
    "properties.id,properties.name": "properties.id",
    "vid,rt,des": "vid",
    "source_mmsi,id": "source_mmsi",
    "sourcemmsi,id": "sourcemmsi",
    "unit,id,value": "id",
    "unit_id,id": "unit_id",
    "shift_id,driverName,id": "driverName",
    "hashed_user_id,id": "hashed_user_id",
    "userHash,id": "userHash",
    "USERID,ID": "USERID",
    "record_id,row_id,message_id,seq": None,
    "OBJECTID,VIN": "VIN",
    "ObjectId,Speed": "ObjectId",
    "bike_number,start_station_id,ride_id": "bike_number",
    "ride_id,rideable_type,start_station_name,start_station_id": "start_station_id",
    "operator_id,agency_id,fleet_id,depot_id,vendor_id,provider_id": None,
    "vehicle_type,vehicle_type_id,vehicle_model,vehicle_status": None,
    "driver_shift_id,vehicle_block_id": None,
    "MetaData.MMSI,Message.PositionReport.UserID,MessageID": "MetaData.MMSI",
    "licence_plate_number,id": "licence_plate_number",
    "vehicle.licensePlate,vehicle.trip.id": "vehicle.licensePlate",
    "refVehicle,id": "refVehicle",
    "vehiclePlateIdentifier,id": "vehiclePlateIdentifier",
    "assetName,id": "assetName",
    "asset.id,id": "asset.id",
    "tracker_label,x": "tracker_label",
    "Bus No,Route No,Stop No": "Bus No",
    "bus_stop_id,bus_line,bus_route_id": None,
    "truckid,orderid": "truckid",
    "DEVICE_ID_HASH,x": "DEVICE_ID_HASH",
    "card_id,card_type,user_type": "card_id",
    "phone_no,x": "phone_no",
    "phoneModel,x": None,
    "driver_id,rider_id,trip_id": "driver_id",
    "rider_id,trip_id": "rider_id",
}


@pytest.mark.parametrize("header", HEADERS)
def test_the_user_is_a_vehicle_a_device_a_person_or_a_card(header: str) -> None:
    assert recognise_roles(header.split(",")).get("user") == HEADERS[header]


@pytest.mark.parametrize(
    "name", ["trip_id", "routeId", "Stop No", "vehicle.trip.tripId", "order.number", "HOUR", "line"]
)
def test_what_somebody_has_several_of_is_known_by_its_name(name: str) -> None:
    assert names_no_user(name)


@pytest.mark.parametrize("name", ["bus", "id", "trip.vehicle.id", "trip_vehicle_id", "x17", "driver", "fleet", ""])
def test_and_nothing_else_is(name: str) -> None:
    assert not names_no_user(name)


@pytest.mark.parametrize(
    ("name", "is_so"),
    [
        *[(one, True) for one in ("rider_id", "card_id", "hack_license", "driverRef", "id_tarjeta", "phone_no")],
        *[(one, False) for one in ("scooter_id", "user_id", "passengers", "card_type", "trip_id", "medallion")],
    ],
)
def test_people_and_what_they_carry_are_known_by_their_names(name: str, is_so: bool) -> None:
    assert names_people(name) == is_so
