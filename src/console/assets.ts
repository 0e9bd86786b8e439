import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import express from 'express';

const folder = join(import.meta.dirname, '../../assets/console');
const versions = new Map(
  readdirSync(folder).map((name) => [name, hash('sha256', readFileSync(join(folder, name))).slice(0, 12)]),
);

/** The address of an asset. It changes with the content, so that a browser may cache it forever. */
export const assetUrl = (name: string) => `/console/assets/${name}?v=${versions.get(name)}`;

export const serveAssets = express.static(folder, {
  immutable: true,
  maxAge: '1y',
  index: false,
  redirect: false,
});
