/**
 * What the backends of Holdfast have in common: the requests of a server to its client, what a server says in a log, and the versions of
 * the MCP Java SDK. Internal.
 */
@NullMarked
package dev.holdfast.json.backend;

import org.jspecify.annotations.NullMarked;
