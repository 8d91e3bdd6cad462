import { StoreRefused } from './store.js';

/** Loads an optional peer dependency; if it is missing, the error says how to install it. */
export async function loadDriver<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StoreRefused(`The driver ${name} is not installed. Run: npm install ${name}`);
  }
}
