/** Who reads the command line of a hook. */
export type HookShell = 'posix' | 'cmd' | 'powershell';

/** One line that a shell reads as exactly these words. */
export function shellLine(shell: HookShell, words: readonly string[]): string {
  const line = words.map(QUOTERS[shell]).join(' ');
  // PowerShell takes a line that begins with a quote for a text, not for a program.
  return shell === 'powershell' && line.startsWith("'") ? `& ${line}` : line;
}

const QUOTERS: Readonly<Record<HookShell, (word: string) => string>> = {
  posix: (word) => (/^[\w./:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`),
  cmd: (word) => (/^[\w./\\:+~-]+$/.test(word) ? word : `"${escapedForWindows(word)}"`),
  powershell: (word) => (/^[\w./\\:+-]+$/.test(word) ? word : `'${word.replaceAll("'", "''")}'`),
};

/** Windows leaves it to the program to split its line: a backslash counts only before a quote. */
const escapedForWindows = (word: string): string =>
  word.replace(/(\\*)"/g, '$1$1\\"').replace(/\\+$/, '$&$&');
