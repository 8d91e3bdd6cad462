import type { ProjectKey } from '../store.js';
import { type Disk, readSmallFile, writeAtomically } from './disk.js';
import { ACTIVE_FILE, closedSegmentPositions, IDLE_FILE, type StoreLayout } from './layout.js';

/** How far a log had grown. Every change of a project makes its log grow. */
export interface LogExtent {
  /** The number of closed segments. */
  readonly closed_segments: number;
  /** The size of the active file. */
  readonly bytes: number;
}

type IdleLine = readonly [tenantId: string, projectId: string, closedSegments: number, bytes: number];

/**
 * Remembers which projects had no permits when the store was last closed, so that the next start need not open their
 * logs. An entry is valid only while the log is as it was, so the file is only a hint: it may be outdated or missing.
 */
export class IdleProjects {
  private readonly extents = new Map<string, Map<string, LogExtent>>();

  private constructor(
    private readonly disk: Disk,
    private readonly layout: StoreLayout,
    private readonly hasFile: boolean,
  ) {}

  static async read(disk: Disk, layout: StoreLayout): Promise<IdleProjects> {
    const text = await readSmallFile(disk, `${layout.root}/${IDLE_FILE}`);
    const idle = new IdleProjects(disk, layout, text !== null);
    for (const line of (text ?? '').split('\n')) idle.addLine(line);
    return idle;
  }

  /** Whether the project is known to be idle. Compares the extent of its log, and opens no file. */
  async isIdle(projectKey: ProjectKey): Promise<boolean> {
    const extent = this.extents.get(projectKey.tenant_id)?.get(projectKey.project_id);
    if (extent === undefined) return false;
    const folder = this.layout.projectFolder(projectKey);
    const bytes = (await this.disk.sizeOf(`${folder}/${ACTIVE_FILE}`)) ?? 0;
    return (
      bytes === extent.bytes &&
      (await closedSegmentPositions(this.disk, folder)).length === extent.closed_segments
    );
  }

  /** `extent` null: the project is not idle. */
  set({ tenant_id, project_id }: ProjectKey, extent: LogExtent | null): void {
    const projects = this.extents.get(tenant_id) ?? new Map<string, LogExtent>();
    this.extents.set(tenant_id, projects);
    if (extent === null) projects.delete(project_id);
    else projects.set(project_id, extent);
  }

  /** A store that never had an idle project gets no file. */
  async write(): Promise<void> {
    let text = '';
    for (const [tenantId, projects] of this.extents) {
      for (const [projectId, { closed_segments, bytes }] of projects)
        text += `${JSON.stringify([tenantId, projectId, closed_segments, bytes] satisfies IdleLine)}\n`;
    }
    if (text !== '' || this.hasFile) await writeAtomically(this.disk, this.layout.root, IDLE_FILE, text);
  }

  /** Ignores a line that cannot be read. The log of its project is then opened. */
  private addLine(line: string): void {
    try {
      const [tenant_id, project_id, closed_segments, bytes] = JSON.parse(line) as IdleLine;
      this.set({ tenant_id, project_id }, { closed_segments, bytes });
    } catch {
      return;
    }
  }
}
