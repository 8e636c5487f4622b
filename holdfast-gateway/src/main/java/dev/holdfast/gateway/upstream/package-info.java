/** An MCP server behind a URL, as a backend of sessions. */
@NullMarked
package dev.holdfast.gateway.upstream;

import org.jspecify.annotations.NullMarked;
