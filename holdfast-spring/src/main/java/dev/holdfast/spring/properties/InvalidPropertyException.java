package dev.holdfast.spring.properties;

/** A property has a value that the transport does not take: it stops the start of the application, which tells it in plain words. */
public final class InvalidPropertyException extends RuntimeException {
    private final String property;
    private final Object value;
    private final String reason;
    private final String remedy;

    /**
     * A value that is not taken.
     *
     * @param property the whole name of the property
     * @param value what it was set to
     * @param reason which values are taken
     */
    public InvalidPropertyException(String property, Object value, String reason) {
        this(property, value, reason, "Change " + property + ", or remove it for its default.");
    }

    /**
     * The same, with what to do where that is not to change the value.
     *
     * @param remedy whole sentences
     */
    public InvalidPropertyException(String property, Object value, String reason, String remedy) {
        super(property + " is " + value + ": " + reason);
        this.property = property;
        this.value = value;
        this.reason = reason;
        this.remedy = remedy;
    }

    /** The whole name of the property. */
    public String property() {
        return property;
    }

    /** What it was set to. */
    public Object value() {
        return value;
    }

    /** Which values are taken. */
    public String reason() {
        return reason;
    }

    /** What to do. */
    public String remedy() {
        return remedy;
    }
}
