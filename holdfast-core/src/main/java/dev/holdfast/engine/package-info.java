/** Finds, opens, restores, bounds and drains all sessions of one node. Start at {@link dev.holdfast.engine.SessionEngine}. */
@NullMarked
package dev.holdfast.engine;

import org.jspecify.annotations.NullMarked;
