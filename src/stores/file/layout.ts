import { type ProjectKey, StoreUnavailable } from '../store.js';
import type { Disk } from './disk.js';

export const STORE_FILE = 'store.json';
export const LOCK_FILE = 'lock';
/** Names in the root folder that no tenant may use. */
const RESERVED = new Set([STORE_FILE, `${STORE_FILE}.tmp`, LOCK_FILE]);

/** Most file systems allow 255 bytes per name; the rest is left for our own suffixes. */
export const FOLDER_NAME_MAX = 200;

const PLAIN = /^[a-z0-9_-][a-z0-9._-]*$/;
const ESCAPE = /%([0-9A-F]{2})/g;

/**
 * A folder name for an id. Lowercase letters, digits, `_`, `-` and dots after the first character stay; everything else
 * is escaped. So no id leads to another folder, as `..` would, and ids that differ only in case stay distinct on a
 * case-insensitive file system.
 */
export function folderName(id: string): string {
  const name = PLAIN.test(id) && !RESERVED.has(id) ? id : escapeId(id);
  if (name === '' || name.length > FOLDER_NAME_MAX) {
    throw new StoreUnavailable(
      `The id ${JSON.stringify(id)} cannot name a folder: its folder name must have 1 to ${FOLDER_NAME_MAX} characters, not ${name.length}.`,
    );
  }
  return name;
}

/** Escapes each byte that is not `plain`, and the first letter of a reserved name. A dot is plain except at the beginning. */
export function escapeId(id: string, plain = /[a-z0-9_-]/): string {
  let name = '';
  for (const byte of Buffer.from(id)) {
    const character = String.fromCharCode(byte);
    const isSafe = plain.test(character) || (character === '.' && name !== '');
    name += isSafe ? character : escapedByte(byte);
  }
  return RESERVED.has(name) ? escapedByte(name.charCodeAt(0)) + name.slice(1) : name;
}

const escapedByte = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;

/** The id of a folder; null if the folder is not the store's. */
export function idOfFolder(name: string): string | null {
  if (!/^[a-z0-9._%A-F-]+$/.test(name)) return null;
  const bytes = name.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const id = Buffer.from(bytes, 'latin1').toString('utf8');
  return id !== '' && folderName(id) === name ? id : null;
}

/** The folder of the blobs, beside the tenants' folders; the grammar of ids allows no `_` at the start. */
export const BLOBS_FOLDER = '_blobs';

/** The write-ahead log, which all projects share. */
export const WAL_FILE = '_wal.jsonl';

/** The list of idle projects. No tenant's folder has a plus in its name. */
export const IDLE_FILE = '+idle.jsonl';

const NON_TENANT_NAMES = new Set([BLOBS_FOLDER, WAL_FILE]);

export const tenantFolder = (root: string, tenantId: string): string => `${root}/${folderName(tenantId)}`;

/** The folder of all other projects in a store whose root belongs to one project. */
export const TENANTS_FOLDER = 'tenants';

/** The paths of a store's logs; defined only here. */
export class StoreLayout {
  private readonly tenantsFolder: string;

  /** `home`: the project whose log is in the root itself; null: every project has its own folder. */
  constructor(
    readonly root: string,
    private readonly home: ProjectKey | null = null,
  ) {
    this.tenantsFolder = home === null ? root : `${root}/${TENANTS_FOLDER}`;
  }

  /** The tenants that have a folder, and the tenant of the home project, sorted by name. */
  async tenantIds(disk: Pick<Disk, 'list'>): Promise<string[]> {
    const ids = new Set(this.home === null ? [] : [this.home.tenant_id]);
    for (const name of await disk.list(this.tenantsFolder)) {
      const id = RESERVED.has(name) ? null : idOfFolder(name);
      if (id !== null && !NON_TENANT_NAMES.has(id)) ids.add(id);
    }
    return [...ids].sort();
  }

  tenantFolder(tenantId: string): string {
    return tenantFolder(this.tenantsFolder, tenantId);
  }

  projectFolder(projectKey: ProjectKey): string {
    if (this.homeProjectOf(projectKey.tenant_id) === projectKey.project_id) return this.root;
    return `${this.tenantFolder(projectKey.tenant_id)}/${folderName(projectKey.project_id)}`;
  }

  /** The project of this tenant whose log is in the root; null: none. */
  homeProjectOf(tenantId: string): string | null {
    return this.home?.tenant_id === tenantId ? this.home.project_id : null;
  }
}

export const ACTIVE_FILE = 'events.jsonl';
export const DURABLE_FILE = 'durable';
export const SEGMENTS_FOLDER = 'segments';
export const SNAPSHOTS_FOLDER = 'snapshots';
/** What a reader of the log keeps, so that it need not read the whole log again. Removed when the log is redacted. */
export const SUMMARY_FILE = 'summary';
export const summaryPath = (folder: string): string => `${folder}/${SNAPSHOTS_FOLDER}/${SUMMARY_FILE}`;

const POSITION_DIGITS = 12;
export const paddedPosition = (position: number): string => String(position).padStart(POSITION_DIGITS, '0');
export const segmentName = (firstPosition: number): string => `${paddedPosition(firstPosition)}.jsonl`;

export const segmentPath = (folder: string, firstPosition: number): string =>
  `${folder}/${SEGMENTS_FOLDER}/${segmentName(firstPosition)}`;

/** The first positions of the closed segments in a project's folder, in order. */
export async function closedSegmentPositions(disk: Pick<Disk, 'list'>, folder: string): Promise<number[]> {
  const names = await disk.list(`${folder}/${SEGMENTS_FOLDER}`);
  return names.flatMap((name) => positionOfSegment(name) ?? []).sort((a, b) => a - b);
}

/** Null for a file that is not the store's. */
export function positionOfSegment(name: string): number | null {
  const match = /^(\d{12,})\.jsonl$/.exec(name);
  return match === null ? null : Number(match[1]);
}
