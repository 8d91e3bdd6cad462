import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  /** One letter, as `ps` shows it: T is stopped, Z is dead and not waited for. */
  readonly state: string;
}

/** The processes of this machine: from /proc where there is one, since a small Linux has no `ps`. */
export const processTable = (): ProcessRow[] => (existsSync('/proc/self/stat') ? fromProc() : fromPs());

function fromProc(): ProcessRow[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The name of the program comes before, in brackets, and may contain anything.
      const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [{ pid: Number(name), parent: Number(parent), state }];
    } catch {
      return []; // It ended meanwhile.
    }
  });
}

function fromPs(): ProcessRow[] {
  const lines = execFileSync('ps', ['-axo', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  return lines.map((line) => {
    const [pid = '', parent = '', state = ''] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), state: state.charAt(0) };
  });
}
