/** An MCP server on the standard input and output of a child process, as a backend of sessions. */
@NullMarked
package dev.holdfast.gateway.stdio;

import org.jspecify.annotations.NullMarked;
