/**
 * Holdfast as a transport of the official MCP Java SDK. {@link dev.holdfast.mcp.HoldfastTransportProvider} takes the place of
 * the SDK's own servlet transport; {@link dev.holdfast.mcp.HoldfastRequest} is what a handler can ask of it.
 */
@NullMarked
package dev.holdfast.mcp;

import org.jspecify.annotations.NullMarked;
