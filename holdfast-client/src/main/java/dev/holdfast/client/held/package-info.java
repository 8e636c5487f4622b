/**
 * One session for an application, over as many sessions at its server as that takes: when the server has lost one, another is opened
 * and brought to where the first was. Internal to Holdfast.
 */
@NullMarked
package dev.holdfast.client.held;

import org.jspecify.annotations.NullMarked;
