/** The shell that runs a hook's command line. */
export type HookShell = 'posix' | 'cmd' | 'powershell';

/** Quotes words as one line that the shell splits back into exactly these words. */
export function shellLine(shell: HookShell, words: readonly string[]): string {
  const line = words.map(QUOTERS[shell]).join(' ');
  // PowerShell treats a line that starts with a quote as a string, not a command.
  return shell === 'powershell' && line.startsWith("'") ? `& ${line}` : line;
}

const QUOTERS: Readonly<Record<HookShell, (word: string) => string>> = {
  posix: (word) => (/^[\w./:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`),
  cmd: (word) => (/^[\w./\\:+~-]+$/.test(word) ? word : `"${escapedForWindows(word)}"`),
  powershell: (word) => (/^[\w./\\:+-]+$/.test(word) ? word : `'${word.replaceAll("'", "''")}'`),
};

/** On Windows each program splits its own command line: a backslash escapes only before a quote. */
const escapedForWindows = (word: string): string =>
  word.replace(/(\\*)"/g, '$1$1\\"').replace(/\\+$/, '$&$&');
