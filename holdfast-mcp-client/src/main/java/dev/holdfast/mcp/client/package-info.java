/** A transport for clients of the official MCP Java SDK that comes back. */
@NullMarked
package dev.holdfast.mcp.client;

import org.jspecify.annotations.NullMarked;
