/**
 * A {@link dev.holdfast.cluster.SharedSessionStore} in Redis: {@link dev.holdfast.redis.RedisStore}. Many nodes use it at once, and
 * each session too.
 */
@NullMarked
package dev.holdfast.redis;

import org.jspecify.annotations.NullMarked;
