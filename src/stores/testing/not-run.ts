/** The title of a group of tests that this machine cannot run begins so. The closing summary of a run looks for it. */
export const NOT_RUN = 'not run: ';
