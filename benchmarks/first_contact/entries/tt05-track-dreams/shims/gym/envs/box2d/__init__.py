from . import car_racing
