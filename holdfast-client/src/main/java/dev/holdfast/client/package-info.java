/**
 * MCP sessions at remote servers, over Streamable HTTP and HTTP+SSE: every stream comes back with its cursor, every message gets a
 * definite outcome, and messages are bytes. Internal to Holdfast.
 */
@NullMarked
package dev.holdfast.client;

import org.jspecify.annotations.NullMarked;
