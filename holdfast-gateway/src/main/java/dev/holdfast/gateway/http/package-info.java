/** The HTTP server: connections, deadlines, tokens, and the pages that say how the gateway is. Knows no stdio. */
@NullMarked
package dev.holdfast.gateway.http;

import org.jspecify.annotations.NullMarked;
