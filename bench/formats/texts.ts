/** Texts at the size limit of each format: well-formed ones, and ones that an attacker would write. */

const trackLetters = (index: number): string =>
  [676, 26, 1].map((unit) => String.fromCharCode(65 + (Math.floor(index / unit) % 26))).join('');
const sequenceText = (index: number): string => String(index).padStart(3, '0');

/** Calls `put` for one task after another, 999 to a track, until it returns false. */
function eachTask(put: (track: string, id: string, isFirst: boolean) => boolean): void {
  for (let index = 0; ; index += 1) {
    const track = trackLetters(index);
    for (let at = 1; at <= 999; at += 1)
      if (!put(track, `${track}-${sequenceText(at)}-work`, at === 1)) return;
  }
}

export function planYaml(lengthMax: number): string {
  const lines = ['tracks:\n'];
  let length = 0;
  eachTask((track, id, isFirst) => {
    const task = `    - id: ${id}\n      description: one piece of work\n      depends_on: []\n`;
    const line = isFirst ? `  ${track}:\n${task}` : task;
    length += line.length;
    if (length + 20 > lengthMax) return false;
    lines.push(line);
    return true;
  });
  return lines.join('');
}

export function planJson(lengthMax: number): string {
  const tracks: Record<string, object[]> = {};
  let length = 0;
  eachTask((track, id) => {
    const task = { id, description: 'one piece of work', depends_on: [] };
    length += JSON.stringify(task).length + 2;
    if (length + 1000 > lengthMax) return false;
    tracks[track] = [...(tracks[track] ?? []), task];
    return true;
  });
  return JSON.stringify({ tracks });
}

const linesOfLength = (length: number, line: (at: number) => string): string => {
  const lines: string[] = [];
  for (let at = 0, totalLength = 0; totalLength < length; at += 1) {
    const text = line(at);
    lines.push(text);
    totalLength += text.length;
  }
  return lines.join('');
};

/** An attack: every line has a fault, and each fault would be listed. */
export const unknownFields = (length: number): string => linesOfLength(length, (at) => `k${at}: 1\n`);
export const badCommas = (length: number): string => `tracks: [${','.repeat(length)}]`;

/** A plan of a few kilobytes that declares a million subtasks. */
export const millionSubtasks = (): string =>
  `tracks:\n  A:\n${Array.from({ length: 99 }, (_, index) => `    - {id: A-${sequenceText(index + 1)}-w, description: x, subtasks: 9999}\n`).join('')}`;

export const addedTasks = (bytesMax: number): string => {
  const tasks: object[] = [];
  let length = 0;
  eachTask((_track, id) => {
    const task = { id, description: 'one piece of work', depends_on: [] };
    length += JSON.stringify(task).length + 1;
    if (length + 100 > bytesMax) return false;
    tasks.push(task);
    return true;
  });
  return JSON.stringify({ tasks });
};

export const importedEvents = (bytesMax: number): string => {
  const events = Array.from({ length: 1000 }, (_, index) => ({
    event_id: `0192f1a4-7c3e-7b1a-9d55-${index.toString(16).padStart(12, '0')}`,
    event_type: 'something_happened',
    timestamp: '2026-01-04T06:00:00.000Z',
    agent_id: 'primary',
    payload: {
      text: 'x'.repeat(Math.floor(bytesMax / 1000) - 320),
      imported: { source: 'bench', line: index + 1 },
    },
  }));
  return JSON.stringify({ events });
};

/** As many features as fit, one file each. */
export const workspaceFiles = (lengthMax: number, fileLength: number): Record<string, string> => {
  const files: Record<string, string> = {};
  for (let at = 1, length = 0; length + fileLength < lengthMax; at += 1, length += fileLength) {
    const id = `REQ-F-BENCH-${String(at).padStart(4, '0')}`;
    const head = `feature: ${id}\ntitle: Feature ${at}\nnotes:\n`;
    files[`features/active/${id}.yml`] =
      head + linesOfLength(fileLength - head.length - 80, (line) => `  - line ${line}\n`);
  }
  return files;
};

export const gapKeys = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({
    key: `REQ-F-D${index % 50}-${index}`,
    code: index % 2,
    tests: 0,
    telemetry: 1,
  }));
