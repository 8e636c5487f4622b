/** {@code holdfast connect}: a stdio server for desktop clients that passes everything on to a server over HTTP. */
@NullMarked
package dev.holdfast.gateway.connect;

import org.jspecify.annotations.NullMarked;
