/** A command that can be copied into a shell. Ids from foreign logs may contain anything, so they are quoted. */
export const genCommand = (...words: readonly string[]): string =>
  ['gen', ...words.map(shellQuoted)].join(' ');

/** The command that creates a feature. People choose the id themselves, so it is a placeholder here. */
export const newFeatureCommand = (...words: readonly string[]): string =>
  genCommand('spawn', '--type', 'feature', '--id', 'REQ-F-NAME-001', ...words);

/**
 * The command that helps a stuck edge: it spawns a feature that finds out why the edge is stuck, and the edge waits for
 * that feature.
 */
export const stuckSpawnCommand = (feature: string, edge: string): string =>
  genCommand(
    ...['spawn', '--type', 'discovery', '--parent', feature, '--edge', edge],
    ...['--reason', `stuck on ${edge}`],
  );

/** The word quoted so that a shell reads it as one word. Control characters are replaced. */
export const shellQuoted = (word: string): string =>
  /^[\w@%+=:,./~-][\w@%+=:,./~#-]*$/.test(word) ? word : `'${printableWord(word).replaceAll("'", `'\\''`)}'`;

/** The word with control characters replaced, because they could alter the terminal that shows the command. */
const printableWord = (word: string): string => word.replace(/\p{C}/gu, '�');

/** The command with which a person decides the review of an edge. */
export const edgeReviewCommand = (feature: string, edge: string): string =>
  genCommand('review', '--feature', feature, '--edge', edge);
