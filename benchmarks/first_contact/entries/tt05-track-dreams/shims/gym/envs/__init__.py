from . import box2d
