import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Workspace } from '../../workspace/workspace.js';
import { CommandFailure, noWorkspace } from '../exit.js';

const STATUS_FILE = 'STATUS.md';
/** Only a page that starts with this mark is overwritten. */
const GENERATED_MARK = '<!-- gen status --gantt --write makes this page; what is changed here is lost. -->';

/** Writes the Gantt diagram to the workspace as a Markdown page. Returns its path. */
export async function writeStatusPage(workspace: Workspace | null, gantt: string): Promise<string> {
  if (workspace === null)
    throw noWorkspace('There is no workspace here to write it into. Make one: gen init');
  const path = workspace.path(STATUS_FILE);
  const before = await readFile(path, 'utf8').catch(() => '');
  if (before.trim() !== '' && !before.startsWith(GENERATED_MARK)) {
    throw new CommandFailure(
      `${path} was written by somebody else, and stays as it is. Move it aside first.`,
    );
  }
  const temporaryPath = `${path}.${randomUUID()}.tmp`;
  await writeFile(
    temporaryPath,
    `${GENERATED_MARK}\n\n# Status\n\n\`\`\`mermaid\n${gantt.trimEnd()}\n\`\`\`\n`,
    {
      flag: 'wx',
    },
  );
  await rename(temporaryPath, path);
  return path;
}
