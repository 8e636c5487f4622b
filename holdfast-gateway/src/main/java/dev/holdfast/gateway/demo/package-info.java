/** The built-in MCP server, for a first try. */
@NullMarked
package dev.holdfast.gateway.demo;

import org.jspecify.annotations.NullMarked;
