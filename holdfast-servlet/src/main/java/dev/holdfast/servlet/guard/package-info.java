/** Decides whether a request is served: host, origin, headers and protocol revision; and what a refused client is told. */
@NullMarked
package dev.holdfast.servlet.guard;

import org.jspecify.annotations.NullMarked;
