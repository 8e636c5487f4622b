/** Holdfast in real containers, with real and with unruly clients. */
@NullMarked
package dev.holdfast.it;

import org.jspecify.annotations.NullMarked;
