/**
 * The gateway: a command line and an HTTP server that put any MCP server on stdio behind sessions that outlive their connection.
 * An application, not a library.
 */
@NullMarked
package dev.holdfast.gateway;

import org.jspecify.annotations.NullMarked;
