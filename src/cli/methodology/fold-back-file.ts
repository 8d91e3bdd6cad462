import { readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Workspace } from '../../workspace/workspace.js';
import { wrongUsage } from '../exit.js';
import { writeNew } from './write-new.js';

export const RECOMMENDATIONS = ['proceed', 'pivot', 'abandon'] as const;

const FEATURE_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;

/** The human-readable findings of a spawned feature: `features/fold-back/<child>.md`. An existing file is never overwritten. */
export class FoldBackFile {
  private isCreated = false;

  private constructor(
    private readonly root: string,
    /** Relative to the project's root. */
    readonly path: string,
    /** The text of an existing file; null if there is no file or it is empty. */
    readonly text: string | null,
  ) {}

  static async open({ root }: Workspace, child: string): Promise<FoldBackFile> {
    if (!FEATURE_ID_PATTERN.test(child))
      throw wrongUsage(`${child} is not a valid feature id. List features: gen status`);
    const path = join('.ai-workspace', 'features', 'fold-back', `${child}.md`);
    const text = await readFile(join(root, path), 'utf8').catch(() => '');
    return new FoldBackFile(root, path, text.trim() === '' ? null : text);
  }

  async write(summary: string, recommendation: string, artifacts: readonly string[]): Promise<void> {
    if (this.text !== null) return;
    const listed = artifacts.length === 0 ? 'none' : `\n\n${artifacts.map((each) => `- ${each}`).join('\n')}`;
    const text = `# Fold-back\n\n${summary}\n\nRecommendation: ${recommendation}\n\nArtifacts: ${listed}\n`;
    this.isCreated = await writeNew(join(this.root, this.path), text);
  }

  /** Removes the file after a refusal, if this command created it. */
  async undo(): Promise<void> {
    if (this.isCreated) await unlink(join(this.root, this.path));
  }
}
