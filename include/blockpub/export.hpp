// SPDX-License-Identifier: MIT
#pragma once

/// Marks what the shared library shows; everything else is hidden.
#define BLOCKPUB_API __attribute__((visibility("default")))
