import { FileNode, type PowerLossOutcome } from './file-node.js';
import type { SimProcess } from './process.js';
import type { Rng } from './rng.js';

/** A folder: the names that processes see, and the names that would survive a power loss. */
export class FolderNode {
  readonly names = new Map<string, DiskNode>();
  readonly durableNames = new Map<string, DiskNode>();
}

type DiskNode = FileNode | FolderNode;

interface FolderEdit {
  readonly folder: FolderNode;
  readonly name: string;
  /** Null: the name is removed. */
  readonly node: DiskNode | null;
}

/** A change of names, durable once every folder it touches is synced. */
interface FolderChange {
  readonly edits: readonly FolderEdit[];
  readonly unsynced: Set<FolderNode>;
}

/** The contents of the disk, independent of any process. */
export class DiskImage {
  readonly root = new FolderNode();
  private changes: FolderChange[] = [];
  private readonly locks = new Map<string, SimProcess>();

  folderAt(path: string): FolderNode | null {
    let node: DiskNode | undefined = this.root;
    for (const part of path.split('/').filter((name) => name !== '')) {
      if (!(node instanceof FolderNode)) return null;
      node = node.names.get(part);
    }
    return node instanceof FolderNode ? node : null;
  }

  find(path: string): DiskNode | null {
    const { parent, name } = splitPath(path);
    return this.folderAt(parent)?.names.get(name) ?? null;
  }

  fileAt(path: string): FileNode | null {
    const node = this.find(path);
    return node instanceof FileNode ? node : null;
  }

  makeFolder(path: string): void {
    let folder = this.root;
    for (const name of path.split('/').filter((part) => part !== '')) {
      const existing = folder.names.get(name);
      if (existing instanceof FolderNode) {
        folder = existing;
        continue;
      }
      const created = new FolderNode();
      this.applyEdits([{ folder, name, node: created }]);
      folder = created;
    }
  }

  makeFile(path: string): FileNode | null {
    const { parent, name } = splitPath(path);
    const folder = this.folderAt(parent);
    if (folder === null) return null;
    const file = new FileNode();
    this.applyEdits([{ folder, name, node: file }]);
    return file;
  }

  /** Returns false if there is no such file or folder. */
  rename(from: string, to: string): boolean {
    const source = splitPath(from);
    const target = splitPath(to);
    const [sourceFolder, targetFolder] = [this.folderAt(source.parent), this.folderAt(target.parent)];
    const node = sourceFolder?.names.get(source.name);
    if (sourceFolder === null || targetFolder === null || node === undefined) return false;
    this.applyEdits([
      { folder: sourceFolder, name: source.name, node: null },
      { folder: targetFolder, name: target.name, node },
    ]);
    return true;
  }

  remove(path: string): void {
    const { parent, name } = splitPath(path);
    const folder = this.folderAt(parent);
    if (folder?.names.has(name)) this.applyEdits([{ folder, name, node: null }]);
  }

  syncFolder(folder: FolderNode): void {
    const remaining: FolderChange[] = [];
    for (const change of this.changes) {
      change.unsynced.delete(folder);
      if (change.unsynced.size === 0) makeDurable(change);
      else remaining.push(change);
    }
    this.changes = remaining;
  }

  /** Returns false if a live process has the lock, even a frozen one. */
  lock(path: string, owner: SimProcess): boolean {
    if (this.locks.get(path)?.isAlive) return false;
    this.locks.set(path, owner);
    return true;
  }

  unlock(path: string, owner: SimProcess): void {
    if (this.locks.get(path) === owner) this.locks.delete(path);
  }

  lockOwner(path: string): string {
    const owner = this.locks.get(path);
    return owner?.isAlive ? owner.name : '';
  }

  /** A backup: what processes see now, all of it durable. */
  copy(): DiskImage {
    const image = new DiskImage();
    copyFolder(this.root, image.root);
    return image;
  }

  /** Keeps a random part of what was not synced: names first, then file contents. */
  losePower(rng: Rng): void {
    const isOrdered = rng.chance(0.5);
    const keptCount = rng.int(this.changes.length + 1);
    for (const [index, change] of this.changes.entries()) {
      if (isOrdered ? index < keptCount : rng.chance(0.5)) makeDurable(change);
    }
    this.changes = [];
    this.restoreDurable(this.root, rng, new Set());
  }

  private restoreDurable(folder: FolderNode, rng: Rng, visited: Set<DiskNode>): void {
    folder.names.clear();
    for (const [name, node] of folder.durableNames) {
      folder.names.set(name, node);
      if (visited.has(node)) continue;
      visited.add(node);
      if (node instanceof FolderNode) this.restoreDurable(node, rng, visited);
      else node.losePower(rng, rng.pick<PowerLossOutcome>(['none', 'all', 'torn', 'torn', 'pages']));
    }
  }

  private applyEdits(edits: readonly FolderEdit[]): void {
    for (const { folder, name, node } of edits) {
      if (node === null) folder.names.delete(name);
      else folder.names.set(name, node);
    }
    this.changes.push({ edits, unsynced: new Set(edits.map(({ folder }) => folder)) });
  }
}

function makeDurable(change: FolderChange): void {
  for (const { folder, name, node } of change.edits) {
    if (node === null) folder.durableNames.delete(name);
    else folder.durableNames.set(name, node);
  }
}

function splitPath(path: string): { parent: string; name: string } {
  const cut = path.lastIndexOf('/');
  return { parent: path.slice(0, cut), name: path.slice(cut + 1) };
}

function copyFolder(from: FolderNode, to: FolderNode): void {
  for (const [name, node] of from.names) {
    const copied = node instanceof FolderNode ? new FolderNode() : copyOfFile(node);
    if (node instanceof FolderNode) copyFolder(node, copied as FolderNode);
    to.names.set(name, copied);
    to.durableNames.set(name, copied);
  }
}

function copyOfFile(file: FileNode): FileNode {
  const copied = new FileNode();
  copied.append(Buffer.from(file.content()));
  copied.sync();
  return copied;
}
