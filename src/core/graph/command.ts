/** A command that a person may copy into a shell. Ids of foreign logs hold anything, so they are quoted. */
export const genCommand = (...words: readonly string[]): string =>
  ['gen', ...words.map(shellQuoted)].join(' ');

/** Features are named by people: the id is theirs to fill in. */
export const newFeatureCommand = (...words: readonly string[]): string =>
  genCommand('spawn', '--type', 'feature', '--id', 'REQ-F-NAME-001', ...words);

const shellQuoted = (word: string): string =>
  /^[\w@%+=:,./~-][\w@%+=:,./~#-]*$/.test(word) ? word : `'${printable(word).replaceAll("'", `'\\''`)}'`;

/** A control character could repaint the terminal that shows the command. */
const printable = (word: string): string => word.replace(/\p{C}/gu, '�');
