from . import models, transforms
