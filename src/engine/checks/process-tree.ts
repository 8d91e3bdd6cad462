import { readdirSync, readFileSync } from 'node:fs';

interface TreeUsage {
  /** The number of threads, which the kernel's limit of processes counts too. */
  readonly processes: number;
  readonly memory_bytes: number;
}

interface ProcessStatus {
  readonly pid: number;
  readonly parent: number;
  readonly threads: number;
  readonly memory_bytes: number;
}

/** What the descendants of a process use now, without the process itself. Null where the system has no `/proc`. */
export function treeUsage(root: number): TreeUsage | null {
  const children = new Map<number, ProcessStatus[]>();
  for (const status of allProcesses() ?? []) {
    const siblings = children.get(status.parent);
    if (siblings === undefined) children.set(status.parent, [status]);
    else siblings.push(status);
  }
  if (children.size === 0) return null;
  let [processes, memory_bytes] = [0, 0];
  const unvisited = [...(children.get(root) ?? [])];
  for (let status = unvisited.pop(); status !== undefined; status = unvisited.pop()) {
    processes += status.threads;
    memory_bytes += status.memory_bytes;
    unvisited.push(...(children.get(status.pid) ?? []));
  }
  return { processes, memory_bytes };
}

function allProcesses(): ProcessStatus[] | null {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (statusOf(name) ?? []) : []));
  } catch {
    return null;
  }
}

function statusOf(pid: string): ProcessStatus | null {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'latin1');
    const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
    const memory_bytes = (field('RssAnon') + field('RssShmem')) * 1024;
    return { pid: Number(pid), parent: field('PPid'), threads: field('Threads'), memory_bytes };
  } catch {
    // The process has ended since it was listed.
    return null;
  }
}
