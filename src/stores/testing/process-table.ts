import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  /** One letter, as in `ps`: T is stopped, Z is a zombie. */
  readonly state: string;
}

/** The processes of this machine: from /proc if available, since a minimal Linux has no `ps`. */
export const processTable = (): ProcessRow[] => (existsSync('/proc/self/stat') ? fromProc() : fromPs());

function fromProc(): ProcessRow[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The program's name comes before, in brackets, and may contain any character.
      const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [{ pid: Number(name), parent: Number(parent), state }];
    } catch {
      return []; // The process has ended meanwhile.
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
