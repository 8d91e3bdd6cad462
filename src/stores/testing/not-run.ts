/** What the tests of an engine are called that could not be had: the closing line of a run looks for it. */
export const NOT_RUN = 'not run: ';
