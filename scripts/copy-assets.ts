import { copyAssets } from './assets.js';

copyAssets('src', 'dist');
