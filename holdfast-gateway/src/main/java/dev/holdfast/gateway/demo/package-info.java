/** The built-in MCP server, for a first try and for tests of conformance. */
@NullMarked
package dev.holdfast.gateway.demo;

import org.jspecify.annotations.NullMarked;
