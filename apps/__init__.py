"""The sample applications. Each is written as a stranger to the library would write it: `import edna`, and nothing below it."""
