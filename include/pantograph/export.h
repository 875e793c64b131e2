// What the shared library shows to the programs that link it; everything else is hidden in it.
#pragma once

#define PANTOGRAPH_EXPORT __attribute__((visibility("default")))
