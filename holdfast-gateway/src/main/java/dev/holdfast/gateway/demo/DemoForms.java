package dev.holdfast.gateway.demo;

import java.util.Map;

/** The forms that demo tools have users fill in, as JSON Schemas. */
final class DemoForms {
    private DemoForms() {}

    static Map<String, Object> answer() {
        return DemoJson.object("""
                {
                  "type": "object",
                  "properties": {"answer": {"type": "string", "description": "Any text"}},
                  "required": ["answer"]
                }
                """);
    }

    static Map<String, Object> contact() {
        return DemoJson.object("""
                {
                  "type": "object",
                  "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"}
                  },
                  "required": ["username", "email"]
                }
                """);
    }

    /** One field of every primitive type, each with a default (SEP-1034). */
    static Map<String, Object> defaults() {
        return DemoJson.object("""
                {
                  "type": "object",
                  "properties": {
                    "name": {"type": "string", "description": "User's name", "default": "John Doe"},
                    "age": {"type": "integer", "description": "User's age", "default": 30},
                    "score": {"type": "number", "description": "User's score", "default": 95.5},
                    "status": {
                      "type": "string",
                      "description": "User's status",
                      "enum": ["active", "inactive", "pending"],
                      "default": "active"
                    },
                    "verified": {"type": "boolean", "description": "Whether the user is verified", "default": true}
                  },
                  "required": []
                }
                """);
    }

    /** Every way to offer a choice (SEP-1330). */
    static Map<String, Object> choices() {
        return DemoJson.object("""
                {
                  "type": "object",
                  "properties": {
                    "untitledSingle": {
                      "type": "string",
                      "description": "One of three",
                      "enum": ["option1", "option2", "option3"]
                    },
                    "titledSingle": {
                      "type": "string",
                      "description": "One of three, with titles",
                      "oneOf": [
                        {"const": "value1", "title": "First Option"},
                        {"const": "value2", "title": "Second Option"},
                        {"const": "value3", "title": "Third Option"}
                      ]
                    },
                    "legacyEnum": {
                      "type": "string",
                      "description": "One of three, with titles in the older way",
                      "enum": ["opt1", "opt2", "opt3"],
                      "enumNames": ["Option One", "Option Two", "Option Three"]
                    },
                    "untitledMulti": {
                      "type": "array",
                      "description": "Some of three",
                      "minItems": 1,
                      "maxItems": 3,
                      "items": {"type": "string", "enum": ["option1", "option2", "option3"]}
                    },
                    "titledMulti": {
                      "type": "array",
                      "description": "Some of three, with titles",
                      "minItems": 1,
                      "maxItems": 3,
                      "items": {
                        "anyOf": [
                          {"const": "value1", "title": "First Choice"},
                          {"const": "value2", "title": "Second Choice"},
                          {"const": "value3", "title": "Third Choice"}
                        ]
                      }
                    }
                  },
                  "required": []
                }
                """);
    }
}
