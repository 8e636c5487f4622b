/** The requests of an MCP server to its client, under ids of the gateway's own. */
@NullMarked
package dev.holdfast.gateway.asking;

import org.jspecify.annotations.NullMarked;
