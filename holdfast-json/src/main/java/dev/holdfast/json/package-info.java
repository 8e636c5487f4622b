/**
 * JSON-RPC messages as bytes: {@link dev.holdfast.json.EnvelopeReader} finds the envelope of a message without a tree, {@link
 * dev.holdfast.json.JsonRpc} writes the messages that Holdfast sends itself, and {@link dev.holdfast.json.HintedBackend} learns
 * from {@code tools/list} which calls may be run again. Knows no HTTP.
 */
@NullMarked
package dev.holdfast.json;

import org.jspecify.annotations.NullMarked;
