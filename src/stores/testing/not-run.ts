/** The prefix of the title of a test group that cannot run on this machine. The closing summary of a run looks for it. */
export const NOT_RUN = 'not run: ';
